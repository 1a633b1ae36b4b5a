/** What each dialect can carry, on a model that takes all of it. */
import type { Reasoning } from "../../src/dialects/kernel/canonical_request.ts";
import type { Name } from "./translated.ts";
import { type Abilities, data } from "./sample_requests.ts";

const schema = {
  type: "object",
  properties: { answer: { type: "string" } },
  required: ["answer"],
  additionalProperties: false,
};

const format = (name: string, strict: boolean) => ({ type: "json-schema", name, schema, strict });
const json = { type: "json" } as const;
const shown = (effort: Reasoning["effort"]): Reasoning => ({ effort: effort!, show: true });

const choices = [{ mode: "auto" }, { mode: "none" }, { mode: "required" }];
const named = { mode: "required", names: [""] };
const allowed = [{ mode: "auto", names: ["", ""] }, { mode: "required", names: ["", ""] }];

const sampling = { temperature: [0, 0.5, 1], topP: [0.1, 1] };
const bare: Abilities = {
  settings: {},
  media: [],
  resultMedia: false,
  resultDetail: false,
  assistantMedia: false,
  customTools: false,
  strictTools: false,
  cache: false,
  names: false,
  refusals: false,
  failedResults: false,
  sealed: undefined,
  signedCalls: false,
  systemTurns: false,
};

const image = { kind: "image", source: data.png } as const;
const pdf = { kind: "file", source: data.pdf, name: "a.pdf" } as const;
const address = { kind: "image", source: data.picture } as const;
const wav = { kind: "audio", source: data.wav } as const;

export const abilities: Readonly<Record<Name, Abilities>> = {
  chat: {
    ...bare,
    settings: {
      ...sampling,
      toolChoice: [...choices, named, ...allowed],
      parallelToolCalls: [true, false],
      maxOutputTokens: [1, 500],
      stop: [["END"], ["a", "b"]],
      choices: [2],
      seed: [0, 7],
      frequencyPenalty: [0.5],
      presencePenalty: [-0.5],
      logprobs: [{ top: 0 }, { top: 3 }],
      logitBias: [{ "50256": -100 }],
      format: [format("answer", true), json],
      reasoning: ["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) =>
        shown(effort as Reasoning["effort"])
      ),
      verbosity: ["low"],
      user: ["ann"],
      serviceTier: ["flex", "default"],
    },
    media: [image, { ...image, detail: "low" }, pdf, address, wav],
    customTools: true,
    strictTools: true,
    names: true,
    systemTurns: true,
  },
  responses: {
    ...bare,
    settings: {
      ...sampling,
      toolChoice: [...choices, named, ...allowed],
      parallelToolCalls: [true, false],
      maxOutputTokens: [16, 500],
      logprobs: [{ top: 0 }, { top: 3 }],
      format: [format("answer", true), json],
      reasoning: [shown("low"), { effort: "high", show: false }],
      verbosity: ["low"],
      user: ["ann"],
      serviceTier: ["flex", "default"],
      metadata: [{ k: "v" }],
    },
    media: [image, { ...image, detail: "low" }, pdf, address, wav],
    resultMedia: true,
    resultDetail: true,
    customTools: true,
    strictTools: true,
    refusals: true,
    sealed: { dialect: "responses", kind: "encrypted_content" },
    systemTurns: true,
  },
  messages: {
    ...bare,
    settings: {
      temperature: [0, 0.5, 1],
      topK: [40],
      toolChoice: [...choices, named],
      parallelToolCalls: [false],
      maxOutputTokens: [5000],
      stop: [["END"], ["a", "b"]],
      format: [format("output", true)],
      user: ["ann"],
      serviceTier: ["auto", "default"],
    },
    media: [image, pdf, address, { kind: "file", source: data.plain, name: "a.txt" }],
    resultMedia: true,
    strictTools: true,
    cache: true,
    failedResults: true,
    sealed: { dialect: "messages", kind: "signature" },
  },
  generate: {
    ...bare,
    settings: {
      ...sampling,
      topK: [40],
      toolChoice: [...choices, named, allowed[1]],
      maxOutputTokens: [500],
      stop: [["END"], ["a", "b"]],
      choices: [2],
      seed: [0, 7],
      frequencyPenalty: [0.5],
      presencePenalty: [-0.5],
      logprobs: [{ top: 0 }, { top: 3 }],
      format: [format("response", false), json],
      reasoning: [{ effort: "low", show: true }, { effort: "high" }, { show: true }],
      serviceTier: ["flex", "priority", "default"],
    },
    media: [image, { ...image, detail: "low" }, { kind: "file", source: data.pdf }, wav],
    resultMedia: true,
    failedResults: true,
    sealed: { dialect: "generate", kind: "thoughtSignature" },
    signedCalls: true,
  },
};

/** Everything that any caller can say. */
export const everything: Abilities = {
  settings: {
    ...abilities.chat.settings,
    topK: [40],
    temperature: [0, 0.5, 1.7],
    metadata: [{ k: "v" }, {}],
    choices: [1, 2],
    seed: [0, 5_000_000_000],
    frequencyPenalty: [0, 0.5],
    stop: [["END"], ["\n"], ["a", "b", "c", "d", "e", "f"], []],
    format: [format("answer", true), json, { type: "text" }],
    reasoning: [shown("none"), shown("high"), { budgetTokens: 5000, show: true }, { show: false }],
    serviceTier: ["auto", "default", "flex", "scale"],
    maxOutputTokens: [1, 500],
    logitBias: [{}, { "1": 5 }],
    modalities: [["text"], ["text", "image"]],
  },
  media: [
    ...abilities.chat.media,
    { kind: "file", source: data.plain, name: "a.txt" },
    { kind: "audio", source: data.flac },
    { kind: "video", source: { type: "base64", mimeType: "video/mp4", data: "AAAA" } },
    {
      kind: "file",
      source: { type: "url", url: "https://papers.example/a.pdf", mimeType: "application/pdf" },
    },
    { kind: "file", source: { type: "vendor-file", id: "file_1", mimeType: undefined } },
    { ...image, name: "a.png" },
    { ...pdf, detail: "high" },
  ],
  resultMedia: true,
  resultDetail: true,
  assistantMedia: true,
  customTools: true,
  strictTools: true,
  cache: true,
  names: true,
  refusals: true,
  failedResults: true,
  sealed: undefined,
  signedCalls: false,
  systemTurns: true,
};
