package redisstore

import "github.com/redis/go-redis/v9"

// Every script of the store stands here. A record is a hash; a field that is
// absent is empty, false, zero or nil, and an empty result is a field that is
// there. Times are microseconds by the server's clock, the same for the whole
// script, and numbers are written in full: Lua's own form of 1.7e15 loses digits.
//
// Each script touches KEYS[1] alone.

// prelude reads the clock and knows how a record stands.
const prelude = `
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(n) return string.format('%.0f', n) end

local names = {'status', 'token', 'policy', 'effect', 'held', 'pending', 'given_up', 'final', 'lease', 'lease_end',
	'expires', 'created', 'generation', 'acquisitions', 'lineage', 'tombstone'}

-- load reads what decides something, without the payloads. False is absent.
local function load()
	local values = redis.call('HMGET', key, unpack(names))
	if not values[1] then return nil end
	local r = {}
	for i, name in ipairs(names) do r[name] = values[i] end
	return r
end

-- uptime is negative when the clock was set back behind the server's start.
local function uptime()
	return tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%-?%d+)'))
end

-- lease_end is when a lease is over. After a restart of the server owners come
-- first: while it was down they could not renew, so nobody takes a record over
-- until it has been up for a lease. A failover to a replica that was already up is
-- not noticed. What was given up is over, also when the clock was set back since.
local function lease_end(r)
	local stop = tonumber(r.lease_end)
	if r.given_up then return math.min(stop, now) end
	if r.status ~= 'in_progress' or stop > now then return stop end
	local up = uptime()
	if not up or up < 0 then return stop end
	return math.max(stop, now - up * 1000000 + tonumber(r.lease))
end

-- keep sets the time to live: none for a record that waits for somebody's word,
-- and otherwise the end of its retention, or of a lease that lasts longer, with
-- what a restart can add to it. The minute is for a settlement after retention
-- whose answer is lost: its repetition must find the record.
local function keep(r)
	if r.pending or r.held or (r.effect and r.policy ~= 'reexecute') then
		redis.call('PERSIST', key)
		return
	end
	local stop = math.max(tonumber(r.expires), now + 60000000)
	if r.status == 'in_progress' and not r.given_up then
		stop = math.max(stop, tonumber(r.lease_end) + tonumber(r.lease))
	end
	redis.call('PEXPIREAT', key, text(math.ceil(stop / 1000)))
end

-- write changes fields of a record; false removes one.
local function write(r, changes)
	local set, gone = {}, {}
	changes.updated = text(now)
	for name, value in pairs(changes) do
		r[name] = value
		if value then
			set[#set + 1] = name
			set[#set + 1] = value
		else
			gone[#gone + 1] = name
		end
	end
	redis.call('HSET', key, unpack(set))
	if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
	keep(r)
end

-- own gives the key to an execution. ARGV has the lease, the retention, the
-- generation to begin with and the lineage, and from some place on the fields of the
-- reservation.
local function own(created, generation, acquisitions, from)
	redis.call('HSET', key, 'status', 'in_progress', 'effect', '1', 'created', created, 'updated', text(now),
		'expires', text(now + tonumber(ARGV[2])), 'lease', ARGV[1], 'lease_end', text(now + tonumber(ARGV[1])),
		'generation', generation, 'acquisitions', acquisitions, unpack(ARGV, from))
	keep(load())
end

-- found answers a record with what is left of its lease.
local function found(r) return {text(lease_end(r) - now), redis.call('HGETALL', key)} end
`

// lossless makes a script run also when Redis is at maxmemory: what it writes
// about a record that is there must not be lost for want of a little memory.
const lossless = "#!lua flags=allow-oom\n"

// reserveScript inserts a record or answers the one that is there. At maxmemory
// Redis refuses the insertion alone, since nothing was written before it.
var reserveScript = redis.NewScript(prelude + `
local r = load()
if r then return found(r) end
own(text(now), ARGV[3], '1', 5)
return 'inserted'
`)

// acquireScript gives a record to a new owner where it is as it was seen.
var acquireScript = redis.NewScript(lossless + prelude + `
local r = load()
if not r or r.token ~= ARGV[5] or r.status ~= ARGV[6] or (r.held or '') ~= ARGV[7] or r.status == 'completed'
	or (r.status == 'in_progress' and lease_end(r) > now) then
	return 'missed'
end
local generation = r.generation
if ARGV[3] ~= '0' and not r.effect and (r.lineage or '') ~= ARGV[4] then generation = ARGV[3] end
redis.call('DEL', key)
own(r.created, generation, text(tonumber(r.acquisitions) + 1), 8)
return generation
`)

// renewScript extends a lease.
var renewScript = redis.NewScript(lossless + prelude + `
local r = load()
if not r or r.token ~= ARGV[1] or r.status ~= 'in_progress' or r.pending or r.given_up then return 'lost' end
write(r, {lease = ARGV[2], lease_end = text(now + tonumber(ARGV[2]))})
return 'renewed'
`)

// settleScript ends an execution. A settlement as which the record stands already
// is a repetition and is not written again; one that says something else than the
// first of its token is stale. In ARGV flags are '1' or empty.
var settleScript = redis.NewScript(lossless + prelude + `
local token, outcome, lease = ARGV[1], ARGV[2], ARGV[3]
local effect, new_generation, own_lease, final = ARGV[4] == '1', ARGV[5] == '1', ARGV[6] == '1', ARGV[7] == '1'
local result_size, tombstone = ARGV[8], ARGV[9]
local result = ARGV[10] == '1' and ARGV[11]
local failure = ARGV[12] == '1' and ARGV[13]

local function flag(b) return b and '1' end
local function some(s) return s ~= '' and s end

local r = load()
if not r then return 'missing' end
if r.token ~= token then return 'stale' end
local repeated = false
if r.status == 'completed' then
	repeated = outcome == 'complete' and redis.call('HGET', key, 'result') == result and r.tombstone == some(tombstone)
	return repeated and 'applied' or 'stale'
end
local live = r.status == 'in_progress' and lease_end(r) > now
local stop = text(math.min(tonumber(r.lease_end), now))

if outcome == 'hold' then
	if not r.effect then return 'stale' end
	if r.held and not (live and own_lease) then return 'applied' end
	if live and not own_lease then return 'stale' end
	local changes = {held = '1'}
	if live then
		changes.lease_end, changes.given_up = stop, '1'
	end
	write(r, changes)
	return 'applied'
end

if r.status == 'failed' then
	repeated = outcome == 'fail' and flag(final) == r.final and flag(effect) == r.effect
		and redis.call('HGET', key, 'failure') == failure
	return repeated and 'applied' or 'stale'
end

if outcome == 'pend' then
	if r.pending and live and r.lease == lease then return 'applied' end
	write(r, {pending = '1', lease = lease, lease_end = text(now + tonumber(lease)), given_up = false})
elseif outcome == 'complete' then
	write(r, {status = 'completed', result = result, result_size = result_size, tombstone = some(tombstone),
		effect = false, held = false, pending = false, lease_end = stop})
else
	local generation = r.generation
	if new_generation and r.effect then generation = text(tonumber(generation) + 1) end
	local changes = {effect = flag(effect), held = flag(r.held and effect), pending = false,
		generation = generation, lease_end = stop, given_up = '1'}
	if outcome == 'fail' then
		changes.status, changes.final, changes.failure = 'failed', flag(final), failure
	end
	write(r, changes)
end
return 'applied'
`)

// getScript reads a record.
var getScript = redis.NewScript("#!lua flags=no-writes\n" + prelude + `
local r = load()
if not r then return 'missing' end
return found(r)
`)

// probeScript does with a key of its own what the other scripts do with theirs,
// and leaves nothing behind.
var probeScript = redis.NewScript(lossless + prelude + `
if not uptime() then return 'no uptime' end
redis.call('HSET', key, 'status', 'probe')
redis.call('HGET', key, 'status')
redis.call('HMGET', key, 'status')
redis.call('HGETALL', key)
redis.call('HDEL', key, 'absent')
redis.call('PEXPIREAT', key, text(math.ceil(now / 1000) + 1000))
redis.call('PERSIST', key)
redis.call('DEL', key)
return 'fine'
`)
