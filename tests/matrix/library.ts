import type { DialectName } from "../../contracts/calls/vendors.ts";

/** Where a library calls: only this changes between it and its own vendor. */
export interface Address {
  /** Without a path and without a slash at the end. */
  url: string;
  key: string;
}

/** An official client library, asked for each feature in its own way. */
export interface Library {
  name: string;
  dialect: DialectName;
  whole(model: string, prompt: string): Promise<Told>;
  stream(model: string, prompt: string): Promise<Told>;
  /** Asks with two tools, streamed, then sends their results back, streamed. */
  tools(model: string, question: string): Promise<ToolTurns>;
  /** The same with reasoning on. */
  reasoning(model: string, question: string): Promise<ToolTurns>;
  /** `png` in base64. */
  image(model: string, prompt: string, png: string): Promise<Told>;
  schema(model: string, prompt: string): Promise<Told>;
  /** What the library says of an error that it threw; undefined for one that isn't its own. */
  explain(thrown: unknown): Failure | undefined;
}

export interface Failure {
  /** HTTP status; undefined when the failure came in the middle of a stream. */
  status: number | undefined;
  /** What the library shows of our message and code. */
  text: string;
}

/** What the library made of an answer. */
export interface Told {
  text: string;
  /** The answer ended by itself, as the library says it. */
  ended: boolean;
  /** As the library shows them; undefined where it shows none. */
  tokens: { input: number; output: number } | undefined;
}

export interface ToolTurns {
  /** Calls of the first answer in order. */
  calls: { id: string; name: string; arguments: unknown }[];
  /** The first answer ended with the calls, as the library says it. */
  endedWithCalls: boolean;
  /** Reasoning text of both answers, as far as the library shows it. */
  thoughts: string;
  /** The second answer. */
  last: Told;
}

/** The tools of the matrix, in the words that all libraries share. */
export const toolNames = ["get_weather", "get_time"] as const;

export function toolDescription(name: string): string {
  return `Tells the ${name.slice(4)} of a city.`;
}

export const toolParameters = {
  type: "object" as const,
  properties: { city: { type: "string" as const, description: "Name of the city" } },
  required: ["city"],
  additionalProperties: false as const,
};

/** What a tool says. */
export function toolResult(name: string): string {
  return name === "get_weather" ? "sunny, 21 °C" : "12:30";
}

/** Has a reference, a union with null and an enumeration in it. */
export const personSchema = {
  type: "object" as const,
  properties: {
    name: { type: "string" as const },
    age: { type: "integer" as const },
    mood: { type: "string" as const, enum: ["glad", "sad"] },
    home: { $ref: "#/$defs/place" },
  },
  required: ["name", "age", "mood", "home"],
  additionalProperties: false as const,
  $defs: {
    place: {
      type: "object" as const,
      properties: {
        city: { type: "string" as const },
        country: { type: ["string" as const, "null" as const] },
      },
      required: ["city", "country"],
      additionalProperties: false as const,
    },
  },
};

/** A stream that the library ended with a failure in place of throwing one. */
export class FailedAnswer extends Error {}
