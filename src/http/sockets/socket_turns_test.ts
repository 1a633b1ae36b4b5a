import assert from "@std/assert";
import { createSocketTurns } from "./socket_turns.ts";

const turn = (responseId: string, itemsText = "x", sources: string[] = []) => ({
  ...{ responseId, itemsText, sources, recordedUnits: itemsText.length },
});

Deno.test("a socket remembers its last response alone, no other socket's, and nothing once closed", () => {
  const turns = createSocketTurns({ maxChars: 1_000, isErased: () => false });
  const [one, other] = [{}, {}];
  turns.remember(one, 1, turn("r1"));
  turns.remember(one, 1, turn("r2"));
  assert.equal(turns.find(one, "r1"), undefined);
  assert.equal(turns.find(one, "r2")?.responseId, "r2");
  assert.equal(turns.find(other, "r2"), undefined);
  turns.closed(one);
  assert.equal(turns.find(one, "r2"), undefined);
  turns.remember(one, 1, turn("r3"));
  assert.equal(turns.find(one, "r3"), undefined, "its call ended after it was closed");
});

Deno.test("all sockets together keep to the limit: the oldest are forgotten, the largest never taken", () => {
  const turns = createSocketTurns({ maxChars: 100, isErased: () => false });
  const sockets = Array.from({ length: 6 }, () => ({}));
  for (const [at, socket] of sockets.entries()) {
    turns.remember(socket, 1, turn(`r${at}`, "x".repeat(20)));
  }
  assert.equal(turns.find(sockets[0]!, "r0"), undefined);
  for (const at of [1, 2, 3, 4, 5]) assert.ok(turns.find(sockets[at]!, `r${at}`), String(at));
  turns.remember(sockets[5]!, 1, turn("large", "x".repeat(26)));
  assert.equal(turns.find(sockets[5]!, "large"), undefined);
  assert.equal(turns.find(sockets[5]!, "r5"), undefined);
});

Deno.test("what one account's sockets hold pushes out its own turns, and no other account's", () => {
  const turns = createSocketTurns({ maxChars: 100, isErased: () => false });
  const [small, ...large] = Array.from({ length: 9 }, () => ({}));
  turns.remember(small!, 1, turn("small", "x".repeat(20)));
  for (const [at, socket] of large.entries()) {
    turns.remember(socket, 2, turn(`r${at}`, "x".repeat(25)));
  }
  assert.ok(turns.find(small!, "small"), "the oldest of all, of an account that holds little");
  const left = large.map((socket, at) => turns.find(socket, `r${at}`)?.responseId);
  assert.deepEqual(left.filter((id) => id !== undefined), ["r5", "r6", "r7"]);
});

Deno.test("an erased call's text is forgotten in every later turn that holds it", () => {
  const turns = createSocketTurns({ maxChars: 100, isErased: () => false });
  const [one, other] = [{}, {}];
  turns.remember(one, 1, turn("r1", "x", ["t1", "t2"]));
  turns.remember(other, 1, turn("r2", "x", ["t3"]));
  turns.forget(["t2"]);
  assert.equal(turns.find(one, "r1"), undefined);
  assert.ok(turns.find(other, "r2"));
});
