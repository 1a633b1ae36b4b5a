import assert from "@std/assert";
import { createSocketTurns } from "./socket_turns.ts";

const turn = (responseId: string, itemsText = "x", sources: string[] = []) => ({
  ...{ responseId, itemsText, sources },
});

Deno.test("a socket remembers its last response alone, and no other socket's", () => {
  const turns = createSocketTurns(1_000);
  const [one, other] = [{}, {}];
  turns.remember(one, turn("r1"));
  turns.remember(one, turn("r2"));
  assert.equal(turns.find(one, "r1"), undefined);
  assert.equal(turns.find(one, "r2")?.responseId, "r2");
  assert.equal(turns.find(other, "r2"), undefined);
  turns.drop(one);
  assert.equal(turns.find(one, "r2"), undefined);
});

Deno.test("all sockets together keep to the limit: the oldest are forgotten, the largest never taken", () => {
  const turns = createSocketTurns(100);
  const sockets = Array.from({ length: 6 }, () => ({}));
  for (const [at, socket] of sockets.entries()) {
    turns.remember(socket, turn(`r${at}`, "x".repeat(20)));
  }
  assert.equal(turns.find(sockets[0]!, "r0"), undefined);
  for (const at of [1, 2, 3, 4, 5]) assert.ok(turns.find(sockets[at]!, `r${at}`), String(at));
  turns.remember(sockets[5]!, turn("large", "x".repeat(26)));
  assert.equal(turns.find(sockets[5]!, "large"), undefined);
  assert.equal(turns.find(sockets[5]!, "r5"), undefined);
});

Deno.test("an erased call's text is forgotten in every later turn that holds it", () => {
  const turns = createSocketTurns(100);
  const [one, other] = [{}, {}];
  turns.remember(one, turn("r1", "x", ["t1", "t2"]));
  turns.remember(other, turn("r2", "x", ["t3"]));
  turns.forget(["t2"]);
  assert.equal(turns.find(one, "r1"), undefined);
  assert.ok(turns.find(other, "r2"));
});
