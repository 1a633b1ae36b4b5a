import assert from "@std/assert";
import { answerQuestions, RequestThread } from "./request_thread.ts";

/** A thread of this code, which has `answerQuestions` and answers with `answer`. */
function threadOf(answer: string) {
  const code = `(${answerQuestions})(${answer});`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  return new RequestThread<unknown, unknown>(module, (reason) => new Error(`died: ${reason}`));
}

Deno.test("each question gets its own answer, whatever the order of the answers", async () => {
  const thread = threadOf(`async (ms) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { waited: ms };
  }`);
  const answers = await Promise.all([30, 0, 15].map((ms) => thread.ask(ms)));
  assert.deepEqual(answers, [{ waited: 30 }, { waited: 0 }, { waited: 15 }]);
  assert.equal(thread.isDead, false);
  thread.end("over");
});

Deno.test("what can't be sent is its asker's alone", async () => {
  const thread = threadOf("async (value) => value");
  assert.throws(() => void thread.ask(() => {}), { name: "DataCloneError" });
  assert.equal(await thread.ask("well"), "well");
  thread.end("over");
});

Deno.test("a thread that fails rejects all current and later requests", async () => {
  const thread = threadOf(`(value) => value === "bad"
    ? Promise.reject(new Error("this and that"))
    : new Promise(() => {})`);
  const asked = [thread.ask("held"), thread.ask("bad")];
  for (const one of asked) await assert.rejects(one, /^Error: died: .*this and that/);
  assert.equal(thread.isDead, true);
  await assert.rejects(thread.ask("late"), /^Error: died: .*this and that/);
});

Deno.test("ending it rejects its open requests with the reason", async () => {
  const thread = threadOf("() => new Promise(() => {})");
  const asked = thread.ask("held");
  thread.end("it is closed");
  await assert.rejects(asked, { message: "died: it is closed" });
});
