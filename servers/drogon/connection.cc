// libpq on Drogon's event loops. Drogon's own client, DbClient, does not survive a database that is killed under load
// (tests/systems/test_database_away.py). As Debian builds it (1.9.13) it is always in libpq's pipeline mode:
//
// - PgConnection::handleRead returns on a fatal result without closing its connection, so the pool never replaces it.
//   Of ten connections two were left when the database had been killed and its sessions terminated once, and none
//   after three times.
// - libpq has closed that socket, but its channel stays registered. trantor aborts the process when another socket of
//   the loop gets the same number (assertion in EpollPoller::updateChannel).
// - The client of each IO thread (getFastDbClient) sends a query to the next connection, whether it is busy or not.
#include "connection.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

constexpr double kReconnectSeconds = 0.5;

std::string backend_address() {
  const char* const found = std::getenv("BACKEND_ADDRESS");
  return found ? found : "127.0.0.1";
}

}  // namespace

Connection::Connection(trantor::EventLoop* loop, uint16_t port, std::function<void()> on_change)
    : loop_(loop),
      address_("host=" + backend_address() + " port=" + std::to_string(port) +
               " user=bench dbname=bench client_encoding=UTF8 options='-c TimeZone=UTC'"
               " sslmode=disable gssencmode=disable"),
      on_change_(std::move(on_change)) {
  connect();
}

void Connection::connect() {
  prepared_.clear();
  link_.reset(PQconnectStart(address_.c_str()));
  if (PQstatus(link_.get()) == CONNECTION_BAD) return lose();
  state_ = State::connecting;
  // A descriptor of our own: libpq closes its one whenever it finds the connection broken.
  channel_.reset(new trantor::Channel(loop_, dup(PQsocket(link_.get()))), [](trantor::Channel* channel) {
    close(channel->fd());
    delete channel;
  });
  channel_->setEventCallback([this] { on_event(); });
  channel_->enableWriting();
}

void Connection::on_event() {
  if (state_ == State::connecting) return poll();
  if (channel_->isWriting()) flush(true);
  if (state_ != State::away) read();
}

void Connection::poll() {
  switch (PQconnectPoll(link_.get())) {
    case PGRES_POLLING_READING:
      channel_->disableWriting();
      channel_->enableReading();
      return;
    case PGRES_POLLING_WRITING:
      channel_->enableWriting();
      return;
    case PGRES_POLLING_OK:
      PQsetnonblocking(link_.get(), 1);
      channel_->disableWriting();
      channel_->enableReading();
      state_ = State::free;
      return on_change_();
    default:
      return lose();
  }
}

void Connection::send(Query query) {
  query_ = std::move(query);
  prepared_.contains(query_->sql) ? execute() : prepare();
}

void Connection::prepare() {
  state_ = State::preparing;
  const std::string name = "statement" + std::to_string(prepared_.size());
  flush(PQsendPrepare(link_.get(), name.c_str(), query_->sql, 0, nullptr));
}

void Connection::execute() {
  state_ = State::executing;
  const char* const value = query_->parameter ? query_->parameter->c_str() : nullptr;
  flush(PQsendQueryPrepared(link_.get(), prepared_[query_->sql].c_str(), query_->parameter ? 1 : 0, &value, nullptr,
                            nullptr, 0));
}

void Connection::flush(bool was_sent) {
  const int rest = was_sent ? PQflush(link_.get()) : -1;
  if (rest < 0) return lose();
  if (rest > 0) {
    channel_->enableWriting();
  } else if (channel_->isWriting()) {
    channel_->disableWriting();
  }
}

void Connection::read() {
  if (!PQconsumeInput(link_.get())) return lose();
  while (query_ && !PQisBusy(link_.get())) {
    if (PGresult* const result = PQgetResult(link_.get())) {
      result_.reset(result);
    } else if (PQstatus(link_.get()) == CONNECTION_BAD) {
      return lose();
    } else {
      return finish_command();
    }
  }
}

void Connection::finish_command() {
  const auto result = std::exchange(result_, {nullptr, &PQclear});
  const ExecStatusType status = PQresultStatus(result.get());
  if (state_ == State::preparing && status == PGRES_COMMAND_OK) {
    prepared_.emplace(query_->sql, "statement" + std::to_string(prepared_.size()));
    return execute();
  }
  Query query = *std::exchange(query_, std::nullopt);
  state_ = State::free;
  query.end(status == PGRES_TUPLES_OK ? result.get() : nullptr);
  on_change_();
}

void Connection::end_older_than(Clock::time_point time) {
  if (query_ && query_->queued < time) query_->end(nullptr);
}

void Connection::lose() {
  state_ = State::away;
  result_.reset();
  if (channel_) {
    channel_->disableAll();
    channel_->remove();
    loop_->queueInLoop([channel = std::exchange(channel_, nullptr)] {});  // it may be what calls us
  }
  link_.reset();
  loop_->runAfter(kReconnectSeconds, [this] { connect(); });
  if (auto query = std::exchange(query_, std::nullopt)) query->end(nullptr);
  on_change_();
}
