import type { Check } from "./checks.ts";
import { isTest } from "./tree.ts";

/**
 * Only a dialect's own folder knows its field names (issue 4): beside it the contracts, the demo's
 * vendors, the clients (the conformance command and the one that is shipped), and tests. A wire
 * format is recognised by words that occur nowhere else.
 */
export const wireWords: Check = {
  isAbout: (path) => isLooked.test(path) && !isTest(path),
  looks(path) {
    const home = /^src\/dialects\/(?:text|media)\/([a-z]+)\//.exec(path)?.[1];
    const mayUse = (word: string) =>
      (home !== undefined && ownersOf(word).includes(home)) || isOurs(path, word);
    const advice = home === undefined
      ? "ask the dialect"
      : `if it is a field of ${home} too, add ${home} to its dialects in wire_words.ts`;
    return [(report) => {
      const look = (node: Deno.lint.Node, text: string) => {
        const word = (text.match(wholeWords) ?? []).find((one) => isWire(one) && !mayUse(one));
        if (word === undefined) return;
        report(
          node,
          `knows '${word}', a field of ${ownersOf(word).join(" and ")}; ${advice}`,
        );
      };
      return {
        Identifier: (node) => look(node, node.name),
        Literal: (node) => typeof node.value === "string" && look(node, node.value),
        TemplateElement: (node) => look(node, node.cooked),
      };
    }];
  },
};

const isLooked = /^(src|openapi)\/(?!client\/)|^[^/]+\.ts$/;

const wholeWords = /[A-Za-z_]+(\.[a-z_]+)*/g;

/** Dialects, and the words that only they say. */
const words: readonly (readonly [dialects: readonly string[], words: string])[] = [
  [
    ["chat"],
    `completion_tokens prompt_tokens_details completion_tokens_details tool_calls
    max_completion_tokens finish_reason tool_call_id reasoning_content reasoning_effort logit_bias
    include_usage chat.completion chat.completion.chunk`,
  ],
  // The operations beside chat have its words for the same things.
  [["chat", "operations"], "prompt_tokens response_format"],
  [["chat", "responses", "operations"], "image_url"],
  [["responses", "operations"], "input_tokens_details"],
  [["responses", "messages", "operations"], "output_tokens_details"],
  [
    ["responses"],
    `previous_response_id input_text input_image input_file output_text function_call_output
    encrypted_content max_output_tokens summary_text incomplete_details sequence_number
    output_index content_index call_id`,
  ],
  [
    ["messages"],
    `stop_reason stop_sequence stop_sequences tool_use tool_result tool_use_id input_schema
    redacted_thinking content_block content_block_start message_start message_delta end_turn
    cache_read_input_tokens cache_creation_input_tokens budget_tokens signature_delta
    input_json_delta output_config disable_parallel_tool_use`,
  ],
  [
    ["generate"],
    `functionCall functionResponse functionDeclarations functionCallingConfig generationConfig
    systemInstruction inlineData fileData usageMetadata candidatesTokenCount promptTokenCount
    thoughtsTokenCount cachedContentTokenCount thoughtSignature thinkingBudget thinkingLevel
    blockReason promptFeedback responseMimeType stopSequences candidateCount safetySettings`,
  ],
  [["chat", "messages"], "max_tokens cache_control"],
  [
    ["chat", "responses"],
    `input_audio function_call parallel_tool_calls top_logprobs stream_options frequency_penalty
    presence_penalty`,
  ],
  [["chat", "responses", "messages"], "tool_choice"],
];

/** Words that are ours too, where they are: file, words and why. */
const ours: readonly { file: RegExp; words: RegExp; why: string }[] = [
  {
    file:
      /^src\/(shared\/interaction\.ts|records\/columns\.ts|dashboard\/pages\/interactions\/detail_panels\.tsx)$/,
    words: /^finish_reason$/,
    why: "a public column of an interaction",
  },
  {
    file: /^src\/telemetry\/message_content\.ts$/,
    words: /^finish_reason$/,
    why: "a member of OpenTelemetry's messages",
  },
  {
    file:
      /^src\/(shared\/interaction|dialects\/(kernel\/response_rewriter|text\/\w+\/(finish_reason|answer\/candidate_reader)))\.ts$/,
    words: /^tool_calls$/,
    why: "a value of that column",
  },
  {
    file: /^src\/pricing\/table\/price_\w+\.ts$/,
    words: /^max_output_tokens$/,
    why: "a field of a price row (interface.md §7)",
  },
  {
    file: /^src\/pricing\/sources\/listed_prices\.ts$/,
    words: /^max_completion_tokens$/,
    why: "stands in a vendor's model list, which is no dialect",
  },
  {
    file: /^src\/relay\/conversation\/store\/stored_responses\.ts$/,
    words: /^call_id$/,
    why: "a column of the kept reasoning",
  },
  {
    file: /^src\/dialects\/text\/chat\/request\/decode_messages\.ts$/,
    words: /^thoughtSignature$/,
    why: "an extension of chat carries the other's signature (chat-completions.md §2)",
  },
  {
    file: /^src\/dialects\/text\/responses\/request\/unsupported_fields\.ts$/,
    words: /^logit_bias$/,
    why: "callers send them although the dialect has none, and mean them",
  },
  {
    file: /^src\/dialects\/kernel\/borrowed_fields\.ts$/,
    words: /./,
    why: "what callers bring from one dialect to another",
  },
  {
    file: /^src\/dialects\/media\/(images|speech)\/\w+\.ts$/,
    words:
      /^(response_format|image_url|prompt_tokens|completion_tokens|(input|output)_tokens_details)$/,
    why: "vendors' picture and speech formats took these words over (images-and-speech.md)",
  },
  {
    file: /^src\/dialects\/kernel\/speech_checks\.ts$/,
    words: /^response_format$/,
    why: "a field of our own request for speech",
  },
  {
    file: /^src\/dialects\/kernel\/(read_cache_mark|breakpoints)\.ts$/,
    words: /^cache_control$/,
    why: "what callers call a cache mark, whichever dialect they speak",
  },
  {
    file:
      /^src\/dialects\/text\/messages\/(answer_encoder|answer\/(search_blocks|block_writer))\.ts$/,
    words: /^encrypted_content$/,
    why: "messages has a field of that name too, in what its searches find and in its compactions",
  },
];

function isOurs(path: string, word: string): boolean {
  return ours.some((one) => one.file.test(path) && one.words.test(word));
}

const owners: ReadonlyMap<string, readonly string[]> = new Map(
  words.flatMap(([dialects, list]) => list.split(/\s+/).map((word) => [word, dialects] as const)),
);

function isWire(word: string): boolean {
  return owners.has(word);
}

function ownersOf(word: string): readonly string[] {
  return owners.get(word) ?? [];
}
