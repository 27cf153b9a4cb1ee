#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

/// Gives every connection a thread of its own. A keep-alive connection of httplib keeps its thread until it ends, so
/// with a pool of n threads connection n + 1 would wait for another one to end; ThreadPool's dynamic threads do not
/// rule that out either, as it starts none while a thread counts as idle that has a job already.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  bool enqueue(std::function<void()> serve_connection) override {
    const std::lock_guard lock{mutex_};
    try {
      std::thread{[this, serve = std::move(serve_connection)] {
        serve();
        const std::lock_guard lock{mutex_};
        if (--running_ == 0) all_ended_.notify_all();
      }}.detach();
    } catch (const std::system_error&) {
      return false;  // no more threads to be had: httplib closes the connection
    }
    ++running_;
    return true;
  }

  /// Idle connections end within httplib's 10 ms of polling. A thread amid the request of a client that has fallen
  /// silent sits there for the read timeout: there is nothing of it to save, so the process ends without it.
  void shutdown() override {
    std::unique_lock lock{mutex_};
    if (!all_ended_.wait_for(lock, std::chrono::milliseconds{300}, [this] { return running_ == 0; }))
      std::quick_exit(EXIT_SUCCESS);
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::size_t running_ = 0;
};
