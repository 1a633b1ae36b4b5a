import type { Row } from "../support/service.ts";
import type { TappedCall } from "../matrix/tap.ts";

/** What a program prints for each feature. */
export interface Shown {
  readonly feature: string;
  readonly calls: readonly (readonly [name: string, city: string])[];
  readonly text?: string;
  /** Pieces of text in a stream. */
  readonly pieces?: number;
  readonly object?: Readonly<Record<string, unknown>>;
  readonly dimensions?: number;
  /** Tokens as the client shows them; absent or null where it shows none. */
  readonly input?: number | null;
  readonly output?: number | null;
  /** The class of what was thrown, with what it says. */
  readonly thrown?: string;
  readonly message?: string;
  readonly status?: number | string;
  readonly request_id?: string;
}

export interface SeenCall {
  readonly call: TappedCall;
  /** The call's record; undefined for one that was refused before there was any. */
  readonly row: Row | undefined;
}

/** What each feature asks, with what tells its requests from those of the others. */
export const features = {
  whole: { ask: "Tell me about the rivers of Norway.", mark: /Norway/ },
  stream: { ask: "Tell me about the rivers of Sweden.", mark: /Sweden/ },
  tools: { ask: "What are the weather and the time in Paris?", mark: /Paris|sunny/ },
  object: { ask: "Invent a person who lives in Oslo.", mark: /Oslo/ },
  embed: { ask: "a door", mark: /a door/ },
  missing: { ask: "Tell me about the rivers of Chile.", mark: /Chile/ },
  limited: { ask: "[error:429] Tell me about the rivers of Kenya.", mark: /Kenya/ },
  repeated: { ask: "[error:503x3] Tell me about the rivers of Japan.", mark: /Japan/ },
  broken: { ask: "[midstream-error] Tell me about the rivers of India.", mark: /India/ },
} as const;

export type Feature = keyof typeof features;

/** What is wrong with a feature; undefined: nothing. */
export function judge(shown: Shown, seen: readonly SeenCall[]): string | undefined {
  const rows = seen.flatMap(({ row }) => row === undefined ? [] : [row]);
  const isFailure = ["missing", "limited", "broken"].includes(shown.feature);
  if (isFailure) return judgeFailure(shown, seen);
  if (shown.feature === "repeated") return judgeRepeated(shown, rows);
  if (shown.thrown !== undefined) return `${shown.thrown}: ${shown.message}`;
  if (seen.length === 0) return "no call was seen";
  const failed = seen.find(({ row, call }) => row?.status !== "completed" || call.status !== 200);
  if (failed) return `a call was answered ${failed.call.status} ${failed.row?.error_code ?? ""}`;
  return judgeContent(shown) ?? judgeTokens(shown, rows);
}

function judgeContent({ feature, text = "", pieces, calls, object, dimensions }: Shown) {
  switch (feature) {
    case "whole":
      return text.includes("rivers of Norway") ? undefined : `the text is “${text}”`;
    case "stream":
      if (!text.includes("rivers of Sweden")) return `the text is “${text}”`;
      return (pieces ?? 0) > 1 ? undefined : "the stream came in one piece";
    case "tools": {
      const wanted = "get_time Paris, get_weather Paris";
      const made = calls.map((call) => call.join(" ")).toSorted().join(", ");
      if (made !== wanted) return `the calls are ${made}`;
      return /sunny, 21 °C.*12:30/s.test(text) ? undefined : `the text is “${text}”`;
    }
    case "object":
      return isPerson(object) ? undefined : `the object is ${JSON.stringify(object)}`;
    case "embed":
      return (dimensions ?? 0) > 100 ? undefined : `a vector has ${dimensions} numbers`;
    default:
      return `unknown feature ${feature}`;
  }
}

function isPerson(object: Shown["object"]): boolean {
  return typeof object?.name === "string" && Number.isInteger(object.age) &&
    ["glad", "sad"].includes(String(object.mood)) &&
    typeof (object.home as { city?: unknown } | undefined)?.city === "string";
}

/** The client shows the tokens of the last record, or of all of them. */
function judgeTokens({ input, output }: Shown, rows: readonly Row[]): string | undefined {
  const tokens = (all: readonly Row[], name: string) =>
    all.reduce((sum, row) => sum + Number(row[name] ?? 0), 0);
  for (const [count, name] of [[input, "input_tokens"], [output, "output_tokens"]] as const) {
    if (count === undefined || count === null) continue;
    const [last, sum] = [tokens(rows.slice(-1), name), tokens(rows, name)];
    if (count !== last && count !== sum) return `${name}: shows ${count}, recorded ${last}`;
  }
  return undefined;
}

const statuses: Readonly<Record<string, number>> = { missing: 404, limited: 429 };

function judgeFailure(shown: Shown, seen: readonly SeenCall[]): string | undefined {
  if (shown.thrown === undefined) return `nothing is thrown; the text is “${shown.text}”`;
  const wanted = statuses[shown.feature];
  const status = seen.at(-1)?.call.status;
  if (wanted !== undefined && status !== wanted) return `answered ${status}, not ${wanted}`;
  if (typeof shown.status === "number" && wanted !== undefined && shown.status !== wanted) {
    return `shows the status ${shown.status}`;
  }
  const ids = seen.map(({ call }) => call.headers.get("x-request-id"));
  const { request_id } = shown;
  if (request_id !== undefined && !ids.includes(request_id)) return `shows the id ${request_id}`;
  return undefined;
}

/** A client that repeats a call gets its answer; what failed before costs nothing. */
function judgeRepeated(shown: Shown, rows: readonly Row[]): string | undefined {
  const charged = rows.filter(({ charged_usd }) => Number(charged_usd) > 0).length;
  if (shown.thrown !== undefined) {
    if (rows.length > 1) return `repeated, and yet ${shown.thrown}: ${shown.message}`;
    return charged === 0 ? undefined : "charged although it failed";
  }
  if (!shown.text?.includes("rivers of Japan") && !shown.object) {
    return `the text is “${shown.text}”`;
  }
  return charged === 1 ? undefined : `charged ${charged} times`;
}
