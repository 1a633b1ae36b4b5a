import { type Behaviours, withoutMagicWords } from "./behaviours.ts";
import { HARMLESS, instanceOf, placesIn } from "./instance.ts";
import { type Medium } from "./media.ts";
import { answerProse, lastWords, reasoningProse, resultProse, type ToolOutcome } from "./prose.ts";
import { tokenize } from "./tokens.ts";
import {
  citedProse,
  type OfferedSearch,
  type Passage,
  type Search,
  searchFor,
} from "./web_search.ts";

/** A tool the caller offers. */
export interface OfferedTool {
  name: string;
  /** The namespace that the tool is offered in; only the responses dialect has these. */
  namespace?: string;
  description: string;
  /** JSON Schema of the arguments; null for a tool that takes free text. */
  schema: unknown;
  isFreeText: boolean;
}

/** A request, as a dialect has read it. */
export interface Prompt {
  system: string;
  /** Text of the last user turn that has text. */
  question: string;
  /** Texts of the user turns before that one. */
  earlier: string[];
  media: Medium[];
  /** Results that came after the last user text, of the last round only. */
  outcomes: ToolOutcome[];
  /** Rounds of tool calls since the last user text. */
  toolRounds: number;
  /** Rounds of tool calls in the whole conversation. */
  allToolRounds: number;
  tools: OfferedTool[];
  /** `forced` holds the names to choose from; empty means any. */
  toolMode: { kind: "auto" | "none" } | { kind: "forced"; names: string[] };
  mayCallSeveral: boolean;
  /** The JSON that was requested: of a schema, or any object (`schema: null`). */
  json: { schema: unknown } | null;
  reasoningSentences: number;
  maxTokens: number | null;
  stop: string[];
  /** Whether a sentence precedes tool calls, as with some vendors' models. */
  hasPreamble: boolean;
  headerNames: string[];
  /** The vendor's own web search, if the request offers it. */
  search: OfferedSearch | null;
}

export interface ToolCall {
  name: string;
  /** As in the offered tool. */
  namespace?: string;
  /** JSON text, or free text. */
  input: string;
  isFreeText: boolean;
}

export interface Thought {
  /** Pieces of text as they would be streamed; their join is the text. */
  chunks: string[];
  tokens: number;
}

/** What the simulated model produces for one candidate. */
export interface Output {
  reasoning: Thought;
  chunks: string[];
  text: string;
  /** Without reasoning. */
  tokens: number;
  calls: ToolCall[];
  finish: "stop" | "length" | "tools" | "refusal";
  stopSequence: string | null;
  refusal: string | null;
  searches: Search[];
  /** Passages of the text with a source. */
  passages: Passage[];
}

export const REFUSAL = "I’m sorry, but I can’t help with that.";

/** The simulated model: the same prompt and candidate number give the same output. */
export function think(asked: Prompt, behaviours: Behaviours, candidate = 0): Output {
  const prompt = { ...asked, question: withoutMagicWords(asked.question) };
  const reasoning = limit(
    tokenize(
      prompt.reasoningSentences > 0
        ? reasoningProse(prompt.question, prompt.reasoningSentences)
        : "",
    ),
    prompt.maxTokens === null ? null : Math.floor(prompt.maxTokens / 2),
  ).pieces;
  const thought = { chunks: group(reasoning), tokens: reasoning.length };
  if (behaviours.refusal) {
    return {
      ...blank(thought),
      refusal: REFUSAL,
      finish: "refusal",
      tokens: tokenize(REFUSAL).length,
    };
  }
  const left = prompt.maxTokens === null ? null : prompt.maxTokens - reasoning.length;
  // The answer to tool results doesn't search again.
  const searches = prompt.outcomes.length > 0
    ? []
    : searchFor(prompt.question, prompt.search, behaviours.searches);
  const calls = chooseCalls(prompt, behaviours);
  if (calls.length > 0) return { ...callTools(prompt, calls, thought, left), searches };
  if (searches.length > 0 && behaviours.say === null) {
    const { text, passages } = citedProse(prompt.question, searches);
    const output = write(text, prompt, behaviours, thought, left);
    const shown = passages.filter(({ end }) => end <= output.text.length);
    return { ...output, searches, passages: shown };
  }
  return write(textFor(prompt, behaviours, candidate), prompt, behaviours, thought, left);
}

function blank(reasoning: Thought): Output {
  return {
    reasoning,
    chunks: [],
    text: "",
    tokens: 0,
    calls: [],
    finish: "stop",
    stopSequence: null,
    refusal: null,
    searches: [],
    passages: [],
  };
}

/** Models without a field for JSON are asked for it in the system text, and comply. */
const demandsJson = /\bJSON(?: object| value)? only\b/i;

function textFor(prompt: Prompt, behaviours: Behaviours, candidate: number): string {
  if (behaviours.say !== null) return behaviours.say;
  if (behaviours.echoHeaders) return prompt.headerNames.join(", ");
  if (behaviours.longChunks !== null) {
    return Array.from({ length: behaviours.longChunks }, (_, index) => `Zeile ${index + 1} ✓\n`)
      .join("");
  }
  if (prompt.json || demandsJson.test(prompt.system)) {
    const schema = prompt.json?.schema ?? { type: "object", properties: { answer: {} } };
    return JSON.stringify(instanceOf(schema, prompt.question));
  }
  if (prompt.outcomes.length > 0) return resultProse(prompt.question, prompt.outcomes);
  const prose = answerProse(prompt.question, `${prompt.system}\u0000${candidate}`, prompt.media);
  const before = prompt.earlier.at(-1);
  return before ? `${prose} Before that you said: “${lastWords(before)}”.` : prose;
}

function write(
  text: string,
  prompt: Prompt,
  behaviours: Behaviours,
  reasoning: Thought,
  left: number | null,
): Output {
  const ends = prompt.stop.filter((stop) => stop !== "" && text.includes(stop))
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .sort((a, b) => a.at - b.at);
  const end = ends[0];
  const wanted = end ? text.slice(0, end.at) : text;
  const { pieces, isCut } = limit(tokenize(wanted), left);
  const isLong = behaviours.longChunks !== null;
  return {
    ...blank(reasoning),
    chunks: isLong ? pieces.join("").split(/(?<=\n)/).filter((line) => line !== "") : group(pieces),
    text: pieces.join(""),
    tokens: pieces.length,
    finish: isCut ? "length" : "stop",
    stopSequence: isCut ? null : end?.stop ?? null,
  };
}

const PREAMBLE = "I’ll look that up – un moment.";

function callTools(
  prompt: Prompt,
  calls: ToolCall[],
  reasoning: Thought,
  left: number | null,
): Output {
  const preamble = prompt.hasPreamble ? tokenize(PREAMBLE) : [];
  const sizes = calls.map((call) => tokenize(call.name + call.input).length);
  const tokens = preamble.length + sizes.reduce((sum, size) => sum + size, 0);
  const output = {
    ...blank(reasoning),
    chunks: group(preamble),
    text: preamble.join(""),
    calls,
    tokens,
  };
  if (left === null || tokens <= left) return { ...output, finish: "tools" };
  const last = calls[0];
  const input = tokenize(last?.input ?? "").slice(0, Math.max(1, left - preamble.length - 2));
  return {
    ...output,
    calls: last ? [{ ...last, input: input.join("") }] : [],
    tokens: left,
    finish: "length",
  };
}

function chooseCalls(prompt: Prompt, behaviours: Behaviours): ToolCall[] {
  const { toolMode, tools, question } = prompt;
  if (toolMode.kind === "none" || tools.length === 0) return [];
  const names = toolMode.kind === "forced" ? toolMode.names : [];
  const open = names.length > 0 ? tools.filter((tool) => names.includes(tool.name)) : tools;
  const isForced = toolMode.kind === "forced";
  // Agents may add user texts between rounds, which restart `toolRounds`: this limit ends them too.
  const most = Math.max(MOST_ROUNDS, behaviours.toolSteps);
  const isOver = prompt.toolRounds >= behaviours.toolSteps || prompt.allToolRounds >= most;
  if (!isForced && isOver) return [];
  // A call that is demanded after results is the answer, which another tool takes if there is one.
  const returned = new Set(isOver ? prompt.outcomes.map(({ name }) => name) : []);
  const others = open.filter(({ name }) => !returned.has(name));
  const offered = others.length > 0 ? others : open;
  const mentioned = offered.filter((tool) => isMentioned(tool, question));
  const mayTakeFirst = isForced || /\bcall\b/i.test(question);
  const chosen = mentioned.length > 0 ? mentioned : mayTakeFirst ? offered.slice(0, 1) : [];
  if (!prompt.mayCallSeveral) return chosen.slice(0, 1).map((tool) => call(tool, question, 0));
  const first = chosen[0];
  const wantsTwo = placesIn(question).length > 1 || /\b(two|both|twice|parallel)\b/i.test(question);
  if (chosen.length === 1 && first && wantsTwo) {
    return [call(first, question, 0), call(first, question, 1)];
  }
  return chosen.slice(0, 2).map((tool) => call(tool, question, 0));
}

/** Limit on the rounds of tool calls in one conversation, unless `[steps:N]` asks for more. */
const MOST_ROUNDS = 2;

const COMMON_WORDS = ["return", "returns", "current", "string", "number", "object", "function"];

function isMentioned(tool: OfferedTool, question: string): boolean {
  const asked = question.toLowerCase();
  const ofName = tool.name.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word.length >= 4);
  const ofPurpose = tool.description.toLowerCase().split(/[^\p{L}]+/u)
    .filter((word) => word.length >= 6 && !COMMON_WORDS.includes(word));
  return asked.includes(tool.name.toLowerCase()) ||
    [...ofName, ...ofPurpose].some((word) => asked.includes(word));
}

/** Names of agents' free-text tools whose whole text is executed. */
const RUN_TOOL = /^(exec|bash|shell|local_shell|apply_patch)$/i;

function call(tool: OfferedTool, question: string, variant: number): ToolCall {
  const input = tool.isFreeText
    ? (RUN_TOOL.test(tool.name) ? HARMLESS : answerProse(question, `${variant}`, []))
    : JSON.stringify(instanceOf(tool.schema ?? { type: "object" }, question, variant));
  const { name, namespace, isFreeText } = tool;
  return { name, ...(namespace === undefined ? {} : { namespace }), input, isFreeText };
}

function limit(pieces: string[], most: number | null): { pieces: string[]; isCut: boolean } {
  if (most === null || pieces.length <= most) return { pieces, isCut: false };
  return { pieces: pieces.slice(0, Math.max(0, most)), isCut: true };
}

/** Joins token pieces to chunks of one to three, as vendors send them. */
function group(pieces: string[]): string[] {
  const chunks: string[] = [];
  for (let index = 0; index < pieces.length;) {
    const size = 1 + (index % 3);
    chunks.push(pieces.slice(index, index + size).join(""));
    index += size;
  }
  return chunks;
}

/** Splits a call's input into the fragments in which it is streamed. */
export function fragments(input: string): string[] {
  return input.match(/[^]{1,12}/gu) ?? [];
}
