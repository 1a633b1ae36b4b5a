/**
 * Every field and every union's member of the types of the vendors' libraries, in what our decoders
 * make of it. A new version's new fields fail here until they are read or excepted with a reason.
 */
import assert from "@std/assert";
import { type Json, type Sample } from "../support/library_types.ts";
import { checkExceptions, differences } from "./field_changes.ts";
import {
  lostInRequests,
  missingInRecords,
  refusedInRequests,
  unreadInAnswers,
  unreadInRequests,
} from "./library_exceptions.ts";
import {
  answerReading,
  answerTypes,
  contractErrors,
  requestReading,
  requestTypes,
  samplesOf,
  treatmentOf,
} from "./library_measure.ts";
import { recordOf } from "./recorded_stream.ts";
import { type Name, names } from "./translated.ts";

for (const name of names) {
  Deno.test(`${name}: each field of the library's answers is read, or excepted`, () => {
    const samples = samplesOf(name, answerTypes[name]);
    const { unread, refused } = treatmentOf(samples, answerReading(name));
    assert.deepEqual(refused, []);
    checkExceptions(unread, unreadInAnswers[name]);
  });

  Deno.test(`${name}: each field of the library's requests is read or reported, or excepted`, () => {
    const samples = requestTypes[name].flatMap((type) => samplesOf(name, type));
    assert.deepEqual(contractErrors(name, samples), contractRefusals[name] ?? []);
    const { unread, lost, refused } = treatmentOf(samples, requestReading(name));
    checkExceptions(unread, unreadInRequests[name]);
    checkExceptions(lost, lostInRequests[name]);
    checkExceptions(refused, refusedInRequests[name]);
  });
}

/** The vendor's discounted background calls aren't offered. */
const contractRefusals: Partial<Record<Name, string[]>> = {
  responses: ["background_options.completion_window: Invalid input"],
};

/** A stream with all fields of an answer, and the record that it should have. */
const streams: Readonly<
  Record<keyof typeof missingInRecords, { type: string; play: (value: Json) => [Json[], unknown] }>
> = {
  chat: { type: "ChatCompletionChunk", play: chatStream },
  messages: { type: "BetaMessage", play: messagesStream },
  generate: { type: "GenerateContentResponse", play: (answer) => [[answer], answer] },
};

function chatStream(chunk: Json): [Json[], unknown] {
  const choices = (chunk.choices as Json[]).map(({ delta, ...choice }) => {
    const { tool_calls, ...message } = delta as Json;
    const calls = tool_calls as Json[] | undefined;
    const whole = calls?.map(({ index: _, ...call }) => ({
      ...call,
      type: call.custom ? "custom" : "function",
    }));
    const role = { role: "assistant" };
    return {
      ...choice,
      message: { ...message, ...role, ...(whole ? { tool_calls: whole } : {}) },
    };
  });
  return [[chunk], { ...chunk, object: "chat.completion", choices }];
}

function messagesStream(message: Json): [Json[], unknown] {
  const { stop_reason, stop_sequence, stop_details, container, ...start } = message;
  const { context_management, input_transformations, usage } = message;
  const blocks = (message.content as Json[]).flatMap((content_block, index) => [
    { type: "content_block_start", index, content_block },
    { type: "content_block_stop", index },
  ]);
  const payloads = [
    { type: "message_start", message: { ...start, content: [], stop_reason: null } },
    ...blocks,
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence, stop_details, container },
      ...{ context_management, input_transformations, usage },
    },
    { type: "message_stop" },
  ];
  return [payloads, message];
}

for (const [name, { type, play }] of Object.entries(streams)) {
  const dialect = name as keyof typeof streams;
  Deno.test(`${name}: each field of the library's streams is in the record, or excepted`, () => {
    const missing = samplesOf(dialect, type).flatMap(({ value }: Sample) => {
      const [payloads, whole] = play(value as Json);
      return differences(whole, recordOf(dialect, payloads));
    });
    checkExceptions(missing, missingInRecords[dialect]);
  });
}
