/** What a dialect's client can be asked to do with one model, through one server. */
export interface Probe {
  readonly name: FeatureName;
  /** Throws when the feature does not work. */
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

/** One dialect: its name and how its own client library is asked for each feature. */
export interface DialectProbes {
  readonly dialect: string;
  readonly probes: readonly Probe[];
}

/** Where the server is. */
export interface ServerAddress {
  /** Without a slash at its end. */
  baseUrl: string;
  key: string;
}

/** The server, or the vendors behind it, can't show a feature; it may work. */
export class NotOffered extends Error {
  override name = "NotOffered";
}

/** Fails a probe with a reason that fits into one line. */
export function expect(condition: unknown, reason: string): asserts condition {
  if (!condition) throw new Error(reason);
}

/** Runs `call` and wants it to be refused with this HTTP status. */
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

/** A tool with two calls to make at once. */
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

/** A server that leaves out what a model refuses says so when it is asked to be strict. */
export const strictly = { "x-translation-mode": "strict" } as const;

/** Parses an answer that has to be a person. */
export function expectPerson(text: string): void {
  const person = JSON.parse(text) as { name?: unknown; age?: unknown };
  expect(typeof person.name === "string", "the name is no string");
  expect(Number.isInteger(person.age), "the age is no integer");
}

/** The arguments of both calls name a city each. */
export function expectWeatherCalls(calls: readonly { name: string; arguments: unknown }[]): void {
  expect(calls.length >= 1, "no tool call");
  for (const call of calls) {
    expect(call.name === weather.name, `the tool is called ${call.name}`);
    const city = (call.arguments as { city?: unknown }).city;
    expect(typeof city === "string" && city !== "", "a call without city");
  }
}
