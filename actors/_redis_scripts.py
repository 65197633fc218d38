"""The Lua scripts that keep quotas and slots in Redis, and the keys they work on. Each runs whole or not at all.

Redis's own clock decides (`TIME`), so that replicas whose clocks differ agree on periods and slots. Instants are whole
microseconds: as doubles they are exact, which text with the 14 digits of Lua's `tostring` would not be.

`research-mcp:ledger` is one hash, so that figures and the mark beside them can only be lost together:

    epoch       a random id, written by the replica that found no hash
    after       the epoch before it, once a replica that had seen that one has said so
    lost_at     Unix time at which figures were found to be gone; the operator deletes it to confirm
    seen        how often replicas have looked; written to learn whether Redis takes writes
    NAME:day, NAME:day_units, NAME:month, NAME:month_units, NAME:total    as in `actors.quota.Counts`

`research-mcp:slots:NAME:begun` and `:reserved` are sorted sets of calls by when they started, or may start, and
`:leases` of those reserved by when they are forgotten because their replica is gone. They live a day after last use.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

LEDGER = "research-mcp:ledger"
CLOCK = "research-mcp:clock"


@dataclass(frozen=True, slots=True)
class Script:
    """Lua and the name Redis gives it, the SHA-1 of its text."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


def slot_keys(name: str) -> list[str]:
    """The keys of the three slot scripts, for the instance of that name."""
    return [f"research-mcp:slots:{name}:{part}" for part in ("begun", "reserved", "leases")] + [CLOCK]


# Days since 1970 to a date, by the shift of the year to March that puts the leap day last.
PERIODS = """
local function periods(seconds)
  local days = math.floor(seconds / 86400) + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
                           - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local shifted = math.floor((5 * of_year + 2) / 153)
  local day = of_year - math.floor((153 * shifted + 2) / 5) + 1
  local month = shifted < 10 and shifted + 3 or shifted - 9
  year = year + era * 400 + (month <= 2 and 1 or 0)
  local name = string.format('%04d-%02d', year, month)
  return name .. string.format('-%02d', day), name
end
"""

# A replica tells what it knows of the figures. Where Redis came back with older ones, the higher count is the true one.
SPEND = Script(
    PERIODS
    + """
local epoch, name, units, cap, period = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local found = redis.call('HMGET', KEYS[1], 'epoch', 'lost_at', name .. ':day', name .. ':day_units',
                         name .. ':month', name .. ':month_units', name .. ':total')
if found[1] ~= epoch then return {'epoch'} end
local function latest(key, used, known_key, known_used, now)
  key, used = key or '', tonumber(used or 0)
  if known_key > key then key, used = known_key, known_used
  elseif known_key == key then used = math.max(used, known_used) end
  if now > key then key, used = now, 0 end
  return key, used
end
-- Months that begin on another day than the first: so many seconds later.
local shift = tonumber(ARGV[11] or 0)
local function named(seconds)
  local day, _ = periods(seconds)
  local _, month = periods(seconds - shift)
  return day, month
end
local today, this_month = named(tonumber(redis.call('TIME')[1]))
local day, day_units = latest(found[3], found[4], ARGV[6], tonumber(ARGV[7]), today)
local month, month_units = latest(found[5], found[6], ARGV[8], tonumber(ARGV[9]), this_month)
local total = math.max(tonumber(found[7] or 0), tonumber(ARGV[10]))
if cap >= 0 and found[2] then
  local lost_day, lost_month = named(tonumber(found[2]))
  if (period == 'day' and day <= lost_day) or (period == 'month' and month <= lost_month) then
    return {'lost', day, day_units, month, month_units, total}
  end
end
local used = period == 'day' and day_units or month_units
if cap >= 0 and used + units > cap then return {'spent', day, day_units, month, month_units, total} end
day_units, month_units, total = day_units + units, month_units + units, total + units
redis.call('HSET', KEYS[1], name .. ':day', day, name .. ':day_units', string.format('%.0f', day_units),
           name .. ':month', month, name .. ':month_units', string.format('%.0f', month_units),
           name .. ':total', string.format('%.0f', total))
return {'granted', day, day_units, month, month_units, total}
"""
)

# ARGV: the epoch this replica has seen ('' for none), and a fresh one in case there is none.
LOOK = Script(
    """
local known, fresh = ARGV[1], ARGV[2]
local epoch, state = redis.call('HGET', KEYS[1], 'epoch'), 'same'
if not epoch then
  epoch, state = fresh, known == '' and 'new' or 'lost'
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'after', known)
elseif known ~= '' and epoch ~= known then
  state = redis.call('HGET', KEYS[1], 'after') == known and 'moved' or 'lost'
end
if state == 'lost' then redis.call('HSET', KEYS[1], 'after', known, 'lost_at', redis.call('TIME')[1]) end
redis.call('HINCRBY', KEYS[1], 'seen', 1)
return {state, epoch, redis.call('HGETALL', KEYS[1])}
"""
)

# `now` never runs backwards: where the machine's clock was set back, it goes on from the last instant seen.
_NOW = """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local seen = redis.call('HMGET', KEYS[4], 'last', 'ahead')
local last, ahead = tonumber(seen[1] or 0), tonumber(seen[2] or 0)
if now + ahead < last then ahead = last - now end
now = now + ahead
redis.call('HSET', KEYS[4], 'last', string.format('%.0f', now), 'ahead', string.format('%.0f', ahead))

local id, count, period, leeway = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now))) do
  redis.call('ZREM', KEYS[2], gone)
  redis.call('ZREM', KEYS[3], gone)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - period))

local function score(key, index)
  return tonumber(redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2])
end
-- When the next call may start. One whose slot has come and who has not begun can begin no earlier than now.
local function free_at()
  local begun, reserved = redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])
  if begun + reserved < count then return now end
  if reserved >= count then return math.max(score(KEYS[2], reserved - count), now) + leeway + period end
  return math.max(now, score(KEYS[1], begun + reserved - count) + period)
end
local function keep()
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, string.format('%.0f', period / 1000 + 86400000)) end
end
"""

# ARGV 5 and 6: the longest wait, and how long to remember a replica that says no more. Returns the wait, and the next.
RESERVE = Script(
    _NOW
    + """
local at = free_at()
if at - now > tonumber(ARGV[5]) then return {0, at - now, at - now} end
redis.call('ZADD', KEYS[2], string.format('%.0f', at), id)
redis.call('ZADD', KEYS[3], string.format('%.0f', now + tonumber(ARGV[6])), id)
keep()
return {1, at - now, free_at() - now}
"""
)

# A grant is good for `leeway`: the start counts as of its end, which is the latest the call may go out. Asking again
# with the same id takes back a grant that came too late to be used. Who must wait is told a time of its own, by rank,
# so that not all come back for the same start.
BEGIN = Script(
    _NOW
    + """
redis.call('ZREM', KEYS[1], id)
local begun = redis.call('ZCARD', KEYS[1])
if begun >= count then
  local rank = math.min(redis.call('ZRANK', KEYS[2], id) or 0, count - 1)
  return {0, score(KEYS[1], begun - count + rank) + period - now, free_at() - now}
end
redis.call('ZREM', KEYS[2], id)
redis.call('ZREM', KEYS[3], id)
redis.call('ZADD', KEYS[1], string.format('%.0f', now + leeway), id)
keep()
return {1, 0, free_at() - now}
"""
)

RELEASE = Script(
    """
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[3], ARGV[1])
"""
)
