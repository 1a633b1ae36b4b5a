import assert from "@std/assert";
import { Fault, isStoreAway } from "../shared/fault.ts";
import { Channel, type ChannelDeps, type WorkerNotice } from "./channel.ts";

/** Two ends of one channel; what is sent passes through JSON. */
function pair(answer: ChannelDeps["answer"]) {
  const notices: WorkerNotice[] = [];
  const pass = (to: () => Channel) => (message: unknown) =>
    queueMicrotask(() => to().take(JSON.parse(JSON.stringify(message))));
  const near: Channel = new Channel({
    send: pass(() => far),
    onNotice: () => {},
    answer: () => Promise.reject(new Error("nobody asks here")),
  });
  const far: Channel = new Channel({
    send: pass(() => near),
    onNotice: (notice) => notices.push(notice),
    answer,
  });
  return { near, far, notices };
}

Deno.test("questions get the answers that belong to them, in whatever order they come", async () => {
  const slow = Promise.withResolvers<string>();
  const { near } = pair((question, of) =>
    question === "flush" ? slow.promise : Promise.resolve({ is: question, of })
  );
  const first = near.ask("flush");
  assert.deepEqual(await near.ask("journal"), { is: "journal", of: {} });
  const terms = { accountId: 7, freeOnly: true, timeoutMs: 50 } as const;
  assert.deepEqual(await near.ask("journal", terms), { is: "journal", of: terms });
  slow.resolve("stored");
  assert.equal(await first, "stored");
});

Deno.test("a failure reaches who asked, with its reason", async () => {
  const { near } = pair(() => Promise.reject(new Error("the store is away")));
  await assert.rejects(near.ask("flush"), /the store is away/);
});

Deno.test("a fault is the same fault where it was asked for, however many processes it passes", async () => {
  const away = new Fault("store_unavailable", { note: "PostgreSQL: ECONNREFUSED" });
  const { near: parent } = pair(() => Promise.reject(away));
  const { near: worker } = pair(() => parent.ask("flush"));
  await assert.rejects(
    worker.ask("flush"),
    (thrown: unknown) =>
      isStoreAway(thrown) && thrown.note === away.note && thrown.message === away.message,
  );
});

/** What a caller may try again, as the other process is started again. */
const gone = { code: "store_unavailable", note: "the other process is gone" };

Deno.test("a process that has ended answers nothing and receives nothing", async () => {
  const { near, notices } = pair(() => new Promise(() => {}));
  near.send({ kind: "stop" });
  const asked = near.ask("flush");
  await Promise.resolve();
  near.close();
  await assert.rejects(asked, gone);
  await assert.rejects(near.ask("flush"), gone);
  near.send({ kind: "stop" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(notices.length, 1);
});

Deno.test("who is found to be gone when something is sent answers no earlier question either", async () => {
  let isGone = false;
  const channel = new Channel({
    send: () => {
      if (isGone) throw new Error("the pipe is broken");
    },
    onNotice: () => {},
    answer: () => Promise.reject(new Error("nobody asks here")),
  });
  const asked = channel.ask("flush");
  isGone = true;
  channel.send({ kind: "stop" });
  await assert.rejects(asked, gone);
});

Deno.test("a message of another kind is ignored, and an unknown question is refused", async () => {
  const sent: unknown[] = [];
  const channel = new Channel({
    send: (message) => sent.push(message),
    onNotice: () => assert.fail("a notice"),
    answer: () => Promise.resolve("answered"),
  });
  for (const stray of [null, "text", 7, {}, { id: "x" }, { id: 9, value: 1 }]) channel.take(stray);
  assert.deepEqual(sent, []);
  channel.take({ id: 1, question: "everything" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(sent, [{ id: 1, failed: { message: "no such question: everything" } }]);
});
