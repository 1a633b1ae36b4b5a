import assert from "@std/assert";
import { dataTables } from "./deletion.ts";
import { covers, selectorsHash, tombstoneOf } from "./tombstone.ts";

const at = (text: string) => new Date(`2026-11-21T${text}Z`);

function stone(
  selectors: Parameters<typeof tombstoneOf>[0]["selectors"],
  tables = [...dataTables],
) {
  const deletion = {
    deletionId: "d",
    accountId: 1,
    tables,
    selectors,
    requestedAt: at("12:00:00"),
  };
  return tombstoneOf(deletion, "salt");
}

const call = {
  accountId: 1,
  transactionId: "t",
  createdAt: at("12:00:00"),
  sessionId: "s",
  userId: "u",
};

Deno.test("a tombstone covers what arrived before it and matches everything that was asked", () => {
  assert.ok(covers(stone({ userIds: ["u"] }), call), "in the same millisecond");
  assert.ok(!covers(stone({ userIds: ["u"] }), { ...call, createdAt: at("12:00:00.001") }));
  assert.ok(!covers(stone({ userIds: ["u"] }), { ...call, accountId: 2 }));
  assert.ok(!covers(stone({ userIds: ["u"] }), { ...call, userId: null }));
  assert.ok(!covers(stone({ userIds: ["null"] }), { ...call, userId: null }));
  assert.ok(!covers(stone({ userIds: ["s"], sessionIds: ["s"] }), call));
  assert.ok(!covers(stone({ userIds: ["u"], sessionIds: ["u"] }), call));
  assert.ok(covers(stone({ transactionIds: ["other", "t"] }), call));
  assert.ok(!covers(stone({ transactionIds: ["other"], userIds: ["u"] }), call));
  assert.ok(covers(stone({ userIds: ["v", "u"], sessionIds: ["s"] }), call));
  assert.ok(!covers(stone({ userIds: ["u"] }, ["eval_results"]), call), "of another table");
});

Deno.test("its times are half-open", () => {
  assert.ok(covers(stone({ start: at("12:00:00") }), call));
  assert.ok(!covers(stone({ start: at("12:00:00.001") }), call));
  assert.ok(!covers(stone({ end: at("12:00:00") }), call));
  assert.ok(covers(stone({ end: at("12:00:00.001") }), call));
});

Deno.test("it names neither people nor sessions, and the same one differently each time", () => {
  const selectors = { userIds: ["ann"], sessionIds: ["talk-1"] };
  const first = stone(selectors);
  assert.doesNotMatch(JSON.stringify(first), /ann|talk/);
  const deletion = { deletionId: "d", accountId: 1, tables: dataTables, selectors };
  const second = tombstoneOf({ ...deletion, requestedAt: at("12:00:00") }, "pepper");
  assert.notDeepEqual(first.userHashes, second.userHashes);
  assert.equal(first.selectorsHash, second.selectorsHash);
});

Deno.test("the hash of the selectors is that of the documented text", () => {
  const selectors = { transactionIds: ["b", "a", "b"], start: at("09:00:00") };
  // printf '{"account_id":1,"tables":["eval_runs","interactions"],…}' | sha256sum
  assert.equal(
    selectorsHash(1, ["interactions", "eval_runs"], selectors),
    "df0b39596cfbd960470a0a6cb275b4fefd56c2b32bafca7b00f95b9c3a320851",
  );
});
