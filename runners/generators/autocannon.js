// The driver that wrkbook hands to Node: node autocannon.js OPTIONS, with autocannon's own options as JSON.
//
// It prints what the autocannon command prints, then autocannon's result and what was recorded here, a line of JSON
// each. autocannon's own histogram has whole milliseconds; the time that it hands to its clients' `response` event is the
// same one before it is cut down.
//
// autocannon loads this file once more as its `setupClient`, in each worker thread where there are any.
'use strict'

const fs = require('fs')
const path = require('path')
const { threadId } = require('worker_threads')

const FOLDER = '/tmp/recorded' // in the sandbox, and gone with it
const DENSE_US = 65536

const dense = new Uint32Array(DENSE_US)
const sparse = new Map()
const errors = { connect: 0, read: 0, write: 0, timeout: 0 }
const connected = new Set()
let running = 0

function record (us) {
  if (us < DENSE_US) dense[us]++
  else sparse.set(us, (sparse.get(us) || 0) + 1)
}

function setupClient (client) {
  running++
  client.on('response', (status, bytes, milliseconds) => {
    record(Math.floor(milliseconds * 1000))
    connected.add(client)
  })
  client.on('timeout', () => { errors.timeout++ })
  client.on('connError', (error) => { errors[error.syscall in errors ? error.syscall : 'read']++ })
  client.on('done', () => {
    if (!client.conn.connecting && !client.conn.destroyed) connected.add(client)
    if (--running === 0) save() // all are done in one iteration of the event loop, before autocannon hands over its result
  })
}

// See steps.py.
function steps (counts) {
  let before = 0
  return counts.map(([us, count]) => {
    const step = us - before
    before = us
    return step === 1 ? `${count}` : `${step}:${count}`
  }).join(' ')
}

function save () {
  const counts = [...dense.entries(), ...sparse].filter(([, count]) => count > 0).sort(([a], [b]) => a - b)
  const seen = { histogram_us: steps(counts), errors, connected: connected.size }
  fs.writeFileSync(path.join(FOLDER, `${threadId}.json`), JSON.stringify(seen))
}

function main () {
  const autocannon = require('/build/node_modules/autocannon')
  const options = JSON.parse(process.argv[2])
  if (options.body) options.body = fs.readFileSync(options.body)
  fs.mkdirSync(FOLDER)
  process.on('SIGINT', () => {}) // the duration is exact without it
  const instance = autocannon({ ...options, setupClient: __filename }, (error, result) => {
    if (error) throw error
    const threads = fs.readdirSync(FOLDER).map((name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name))))
    process.stdout.write(`autocannon ${JSON.stringify(result)}\nwrkbook ${JSON.stringify(threads)}\n`)
  })
  autocannon.track(instance, { outputStream: process.stdout })
}

module.exports = setupClient
if (require.main === module) main()
