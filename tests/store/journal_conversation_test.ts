/** Conversations and answers that were quoted before the journal had them (docs/decisions, 1445). */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { parseExactly } from "../../src/base/exact_json.ts";
import { quoteJson, quoteText } from "../../src/base/quoted_json.ts";
import { finish } from "../../src/base/steps.ts";
import { CallReader } from "../../src/records/journal/calls.ts";
import { readSegment } from "../../src/records/journal/files.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { cutQuotedTexts } from "../../src/records/quoted_texts.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { StoredResponseFields } from "../../src/shared/stored_response.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const always = { sync: "always" } as const;
const file = "000000000001.journal";

/** Items whose text looks like what a record has around it. */
const itemsOf = (canary: string) => [
  { role: "user", content: `${canary} "quoted" \\ é \u{1f600} \0 "}}},"inputItemsBytes":1` },
  { role: "user", content: "a".repeat(50) },
];

const begun = (id: string) =>
  interaction(7, id, { status: "interrupted", requestText: '{"store":true}' });

type TextName = "inputItemsText" | "answerText";

/** An answer whose text looks like what a record has around it. */
const answer = '{"id":"}}}","text":"\\",\\"answerBytes\\":1,\\"inputItemsBytes\\":1"}';

/** A call that stores a conversation: quoted, or as the version before had it. */
function ended(
  id: string,
  quoted: readonly TextName[] = ["answerText", "inputItemsText"],
): SettledCall {
  const items = itemsOf(`canary of ${id}`);
  const isQuoted = (name: TextName) => quoted.includes(name);
  const response: StoredResponseFields = {
    responseId: `resp of ${id}`,
    inputItemsText: isQuoted("inputItemsText") ? finish(quoteJson(items)) : JSON.stringify(items),
    answerText: isQuoted("answerText") ? finish(quoteText(answer)) : answer,
    itemIds: ["msg_1"],
    sources: [id],
  };
  const background = { responseId: "resp_2", state: "completed", answerText: "{}" } as const;
  return interaction(7, id, {
    status: "completed",
    requestText: '{"store":true}',
    responseText: '{"text":"\\"}}}"}',
    sourceCallIds: ["call-0"],
    retained: { response, background, reasoning: [{ callId: "c", reasoningText: "{}" }] },
  });
}

/** Writes calls to a new journal; returns its file's bytes, without the zeros behind. */
async function written(folder: string, ...calls: SettledCall[]): Promise<Uint8Array> {
  const journal = await openJournal(folder, always);
  for (const call of calls) {
    journal.begin(begun(call.transactionId));
    await journal.end(call);
  }
  const bytes = (await Deno.readFile(`${folder}/${file}`)).subarray(0, journal.bytes);
  await journal.close();
  return bytes;
}

/** The calls that a start finds. */
async function replayed(folder: string): Promise<SettledCall[]> {
  const found: SettledCall[] = [];
  const journal = await openJournal(folder, always);
  await journal.replay((batch) => {
    found.push(...batch);
    return Promise.resolve();
  });
  await journal.close();
  return found;
}

Deno.test("conversation and answer come back as they were stored, quoted or as the version before wrote them", async () => {
  await withFolder(async (folder) => {
    const calls = [
      ended("call-1"),
      ended("call-2", []),
      ended("call-3", ["answerText"]),
      ended("call-4", ["inputItemsText"]),
    ];
    await written(folder, ...calls);
    assert.deepEqual(await replayed(folder), calls);
  });
});

Deno.test("a conversation that is larger than what a record is usually encoded in is stored whole", async () => {
  await withFolder(async (folder) => {
    const call = ended("call-1");
    const quoted = finish(quoteJson(Array(100_000).fill("é")));
    call.retained!.response!.inputItemsText = quoted;
    await written(folder, call);
    const [found] = await replayed(folder);
    const text = found?.retained?.response?.inputItemsText as Uint8Array | undefined;
    assert.ok(text && Buffer.from(quoted).equals(text));
  });
});

Deno.test("a conversation whose length is not the one before it is read as text", () => {
  const body = (bytes: number) =>
    Buffer.from(`{"kept":{"response":{"a":1,"inputItemsBytes":${bytes},"inputItemsText":"[]"}}}`);
  assert.equal(cutQuotedTexts(body(4))?.rest, '{"kept":{"response":{"a":1}}}');
  for (const bytes of [0, 3, 5, 9_999_999_999]) {
    assert.equal(cutQuotedTexts(body(bytes)), undefined);
  }
});

Deno.test("the version before reads a quoted conversation as text", async () => {
  await withFolder(async (folder) => {
    const bytes = Buffer.from(
      await written(folder, ended("call-1")),
    );
    // The second record: letter, the id's length, and the lengths of body and request (records.ts).
    const fields = 8 + bytes.readUInt32BE(0) + 8;
    const bodyFrom = fields + 11 + bytes.readUInt16BE(fields + 1);
    const body = bytes.toString("utf8", bodyFrom, bodyFrom + bytes.readUInt32BE(fields + 3));
    const { kept, repeats } = parseExactly(body) as { kept: unknown; repeats: unknown };
    const { response, ...others } = ended("call-1", []).retained!;
    const { inputItemsBytes, answerBytes, ...stored } =
      (kept as { response: Record<string, unknown> }).response;
    assert.deepEqual({ ...kept as object, response: stored }, { ...others, response });
    assert.deepEqual(repeats, ["call-0"]);
    assert.deepEqual([typeof inputItemsBytes, typeof answerBytes], ["number", "number"]);
  });
});

Deno.test("wherever a record with a conversation is cut off, it is found whole or not at all", async () => {
  await withFolder(async (folder) => {
    const bytes = await written(`${folder}/whole`, ended("call-1"));
    const begunTo = 8 + Buffer.from(bytes).readUInt32BE(0);
    for (let length = begunTo; length <= bytes.length; length++) {
      const calls = new CallReader();
      const cut = readSegment(Buffer.from(bytes.subarray(0, length)));
      const found = cut.records.flatMap((record) => calls.take(record) ?? []);
      const isWhole = length === bytes.length;
      assert.deepEqual(found, isWhole ? [ended("call-1")] : [], `cut at ${length}`);
      assert.deepEqual([...calls.unended()], isWhole ? [] : [begun("call-1")]);
    }
  });
});

Deno.test("what the store has of a conversation is gone from the compacted journal", async () => {
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, always);
    for (const id of ["call-1", "call-2"]) {
      journal.begin(begun(id));
      await journal.end(ended(id));
    }
    journal.stored(["call-1"]);
    await journal.compact();
    const text = await Deno.readTextFile(`${folder}/${file}`);
    assert.ok(!text.includes("canary of call-1") && text.includes("canary of call-2"));
    await journal.close();
    assert.deepEqual(await replayed(folder), [ended("call-2")]);
  });
});

Deno.test("a conversation that only the journal has is read back into a buffer of its own", async () => {
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, always);
    journal.begin(begun("call-1"));
    await journal.end(ended("call-1"));
    assert.ok(journal.spill("call-1"));
    const found = await journal.readSpilled();
    assert.deepEqual(found, [ended("call-1")]);
    // A message to another thread copies the whole buffer.
    const { inputItemsText, answerText } = found[0]!.retained!.response!;
    for (const text of [inputItemsText, answerText] as Uint8Array[]) {
      assert.equal(text.buffer.byteLength, text.length);
    }
    journal.stored(["call-1"]);
    await journal.close();
  });
});

Deno.test("a rejected record has conversation and answer as text", async () => {
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, always);
    await journal.reject(ended("call-1"), "of a test");
    await journal.close();
    const line = await Deno.readTextFile(`${folder}/rejected.jsonl`);
    const { kept } = (parseExactly(line) as { interaction: { kept: { response: object } } })
      .interaction;
    const text = JSON.stringify(itemsOf("canary of call-1"));
    const { inputItemsText, answerText } = kept.response as StoredResponseFields;
    assert.deepEqual([inputItemsText, answerText], [text, answer]);
  });
});
