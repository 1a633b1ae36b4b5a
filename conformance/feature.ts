/** Tests one feature of a dialect's client library with one model, through one server. */
export interface Probe {
  readonly name: FeatureName;
  /** Throws if the feature doesn't work. */
  run(model: string): Promise<void>;
}

/** The columns of the table, in its order. */
export const featureNames = [
  "whole",
  "stream",
  "usage",
  "tools",
  "image",
  "schema",
  "reasoning",
  "stop",
  "length",
  "error",
] as const;
export type FeatureName = typeof featureNames[number];

/** One dialect: its name, and the probes that test each feature with its own client library. */
export interface DialectProbes {
  readonly dialect: string;
  readonly probes: readonly Probe[];
}

/** The server to test. */
export interface ServerAddress {
  /** Without a trailing slash. */
  baseUrl: string;
  key: string;
}

/** The server, or the vendors behind it, can't demonstrate a feature; it may still work. */
export class NotOffered extends Error {
  override name = "NotOffered";
}

/** Fails a probe unless `condition` holds; `reason` is one line. */
export function expect(condition: unknown, reason: string): asserts condition {
  if (!condition) throw new Error(reason);
}

/** Runs `call`, and throws unless it is refused with this HTTP status. */
export async function expectStatus(call: () => Promise<unknown>, status: number): Promise<void> {
  try {
    await call();
  } catch (thrown) {
    const got = (thrown as { status?: unknown }).status;
    expect(got === status, `expected status ${status}, got ${String(got)}`);
    return;
  }
  throw new Error(`expected status ${status}, got an answer`);
}

/** A tool for the probe of parallel calls. */
export const weather = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string", description: "Name of the city." } },
    required: ["city"],
  },
} as const;

export const weatherPrompt =
  "What is the weather in Paris and in Oslo? Use the get_weather tool for both cities at once.";

export const personSchema = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
} as const;

export const personPrompt = "Invent a person. Answer as JSON with name and age.";

/** A red pixel. */
export const pixelPng =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

export const imagePrompt = "What do you see? One short sentence.";
export const helloPrompt = "Say hello in one short sentence.";
export const longPrompt = "Count from one to one hundred in words, separated by commas.";

/** In strict mode a server refuses fields that the model can't take, instead of dropping them. */
export const strictly = { "x-translation-mode": "strict" } as const;

/** Throws unless an answer is a JSON object with a person's name and age. */
export function expectPerson(text: string): void {
  const person = JSON.parse(text) as { name?: unknown; age?: unknown };
  expect(typeof person.name === "string", "the name is no string");
  expect(Number.isInteger(person.age), "the age is no integer");
}

/** Throws unless there are tool calls, each of which names a city. */
export function expectWeatherCalls(calls: readonly { name: string; arguments: unknown }[]): void {
  expect(calls.length >= 1, "no tool call");
  for (const call of calls) {
    expect(call.name === weather.name, `the tool is called ${call.name}`);
    const city = (call.arguments as { city?: unknown }).city;
    expect(typeof city === "string" && city !== "", "a call without city");
  }
}
