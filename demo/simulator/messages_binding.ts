/** Binds a thinking block's signature to its text, and on newer models to what precedes it. */
import { asArray, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { type MessagesModel } from "./messages_models.ts";
import { invalid } from "./messages_problems.ts";
import { searchIds } from "./messages_search.ts";
import { isSealOf, seal } from "./seals.ts";
import { hexOf } from "./tokens.ts";

/** Returns the signature of the thinking with which a model answers a request. */
export function signThinking(
  body: JsonObject,
  model: MessagesModel,
  thinking: string,
  searches: readonly JsonObject[],
): string {
  const signature = seal("thinking", thinking + searchIds(searches));
  return model.bindsThinking
    ? `${signature}.${model.id}.${prefixesOf(body).at(-1)}`
    : `${signature}.${model.id}`;
}

/**
 * Throws a 400 Problem if thinking was altered, or the conversation that precedes it. Thinking of
 * another model, which this one can't read, is ignored, and so is a changed conversation if the
 * request asks to drop such blocks.
 */
export function checkThinkingBinding(body: JsonObject, model: MessagesModel): void {
  if (!model.signsThinking) return;
  const binding = asObject(asObject(body.thinking)?.block_binding);
  const drops = asText(binding?.prefix_mismatch_behavior) === "drop_block";
  const prefixes = model.bindsThinking ? prefixesOf(body) : [];
  objectsIn(body.messages).forEach((message, index) => {
    const blocks = asArray(message.content).map((block) => asObject(block) ?? {});
    blocks.forEach((block, place) => {
      if (block.type !== "thinking") return;
      const path = `messages.${index}.content.${place}`;
      const [words, producer, prefix] = asText(block.signature).split(".");
      if (!isSealOf(words, "thinking", asText(block.thinking) + searchIds(blocks))) {
        throw invalid(path, "Invalid `signature` in `thinking` block");
      }
      if (producer !== model.id || !model.bindsThinking || drops) return;
      if (prefix !== prefixes[index]) {
        throw invalid(
          path,
          "Invalid `signature` in `thinking` block. The block is bound to a different " +
            "conversation. Remove the block, or set " +
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
        );
      }
    });
  });
}

/** Returns digests of what precedes each message, and of the whole request, without cache marks. */
function prefixesOf({ system, tools, messages }: JsonObject): string[] {
  let digest = digestOf([textBlocks(system), tools ?? []]);
  return [
    digest,
    ...objectsIn(messages).map((message) => {
      digest = digestOf([digest, message.role, textBlocks(message.content)]);
      return digest;
    }),
  ];
}

/** Turns a text into an equivalent block, so that both forms have the same digest. */
function textBlocks(content: unknown): unknown {
  return typeof content === "string" ? [{ type: "text", text: content }] : content ?? [];
}

function digestOf(value: unknown): string {
  const text = JSON.stringify(
    value,
    (name, member) => name === "cache_control" ? undefined : member,
  );
  return hexOf(text, 32);
}
