import recheck from "recheck/lib/browser.js";
import type { Check } from "./checks.ts";
import { type Report, stringValue, type Visitor } from "./syntax.ts";
import { isTest } from "./tree.ts";

/**
 * Regular expressions of the product take time in proportion to the text, whatever it is: one that
 * tries a run of characters from each of its places stops everybody for minutes
 * (`/=+$/` did: 48 s for 300 KB). `recheck` finds them.
 */
export function patterns(): Check {
  const judged = new Map<string, string | null>();
  return {
    isAbout: (path) => isProduct(path) && !isTest(path),
    looks: (_, text) => [(report) => patternsOf(text, report, judged)],
  };
}

function isProduct(path: string): boolean {
  return /^(src|contracts|openapi\/client)\//.test(path);
}

function patternsOf(text: string, report: Report, judged: Map<string, string | null>): Visitor {
  const look = (node: { readonly range: Deno.lint.Range }, source: string, flags: string) => {
    const key = `/${source}/${flags}`;
    if (!judged.has(key)) judged.set(key, objection(source, flags));
    const message = judged.get(key) ?? null;
    if (message !== null) report(node, `${key}: ${message}`);
  };
  const made = (node: Deno.lint.NewExpression | Deno.lint.CallExpression) => {
    if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return;
    const source = stringValue(node.arguments[0] as Deno.lint.Node);
    if (source !== undefined) look(node, source, "");
  };
  return {
    Literal(node) {
      const written = text.slice(...node.range);
      const [, source, flags] = /^\/([^]+)\/([a-z]*)$/.exec(written) ?? [];
      if (source !== undefined && typeof node.value !== "string") look(node, source, flags ?? "");
    },
    NewExpression: made,
    CallExpression: made,
  };
}

function objection(source: string, flags: string): string | null {
  if (isBounded(source) || byHand.has(source)) return null;
  if (!asksAgain && judgedBefore.has(`/${source}/${flags}`)) return null;
  const { status, complexity } = recheck.checkSync(smaller(source), flags, {
    checker: "automaton",
    timeout: 120_000,
  });
  if (status === "safe") return null;
  if (status === "vulnerable") return `${complexity.summary}; look by index, or bound its counts`;
  return "nobody can tell whether it is linear; write it simpler, or judge it by hand and name it " +
    "in tests/architecture/patterns.ts and in tests/hostile/texts_test.ts";
}

/** The long rounds ask the checker about every pattern. */
export const asksAgain = Deno.env.get("PATTERNS") === "all";

/** Nothing in it repeats without an end: its time at one place has a bound. */
function isBounded(source: string): boolean {
  return !/[*+]|\{\d+,\}/.test(source.replace(/\\./g, "x"));
}

/** Long counts make the checker slow and change nothing but a factor. */
function smaller(source: string): string {
  return source.replace(
    /\{(\d+)(,?)(\d*)\}/g,
    (_, least: string, comma: string, most: string) =>
      `{${Math.min(2, Number(least))}${comma}${most === "" ? "" : Math.min(3, Number(most))}}`,
  );
}

/**
 * Judged by hand, since the checker can't read them, or finds more than there is. Each is linear:
 * tests/hostile/texts_test.ts has what is read by them.
 */
const byHand: ReadonlySet<string> = new Set([
  // What follows a quote holds none, so that no place is read from two of them.
  String
    .raw`"(data:[\w.+-]+\/[\w.+-]+;base64,)?(?:(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR[A-Za-z0-9+/]{6}XRUJQ)|JVBERi0|SUQz|\/\/[tuv]|UklGR|T2dnUw|ZkxhQ|AAAA)[\w+/=-]{16000,}"`,
  // Quotes begin it, and only their escapes stand within.
  String
    .raw`"(\w+)"(\s*:\s*)\{"sha256":"([0-9a-f]{64})","bytes":\d+,"mime_type":("(?:[^"\\]|\\.)*"),"url":"\/api\/v1\/media\/\3"\}`,
  // What stands in front of their one run has a bound.
  String.raw`([?&](?:[a-z]{1,16}[_-])?(?:key|apikey|token|sig|signature|password)=)[^\s&#"'<>]+`,
  String.raw`(\b(?:x-)?(?:goog-)?api[-_]?key["']?\s?[:=]\s?["']?)[^\s"',;}]{6,}`,
  // It can always end where it is: nothing has to be tried again.
  String.raw`\s*;\s*(?:([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*)))?\s*`,
  // Two sets of characters that have none in common.
  String
    .raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}]]+`,
]);

/**
 * Patterns that the checker has found linear and takes long to judge, as they are written:
 * `PATTERNS=all deno task test tests/architecture_test.ts` has them judged again.
 */
const judgedBefore: ReadonlySet<string> = new Set([
  String.raw`/\b(?:(?:org|proj)[-_][0-9A-Za-z]{6}|projects\/[\w-])[\w-]*/g`,
  String.raw`/^https:\/\/generativelanguage\.googleapis\.com\/(.*\/)?files\//`,
  String.raw`/"type"\s*:\s*"response\.(completed|incomplete)"/`,
  String.raw`/^(?:\.([^.[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\])/`,
  String.raw`/^\s*multipart\/form-data\s*(;|$)/i`,
  String.raw`/\b(Bearer\s)\s*[^\s"',}]+/gi`,
  String.raw`/^(image\/(png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/`,
  String.raw`/\bxai-[0-9A-Za-z_*-]{8,}/g`,
  String.raw`/\bgsk_[0-9A-Za-z_*-]{6,}/g`,
  String.raw`/\bdmt_[0-9A-Za-z]+(?:;[^\s"',}]+)?/g`,
  String.raw`/\bAIza[0-9A-Za-z_*-]{6,}/g`,
  String.raw`/^\/\/\/ (APP|FLOW|COHORT) (.*)$/s`,
  String.raw`/\beyJ[0-9A-Za-z_.-]{8,}/g`,
  String.raw`/\bsk-[0-9A-Za-z_*.-]{6,}/g`,
  String.raw`/^\s*bearer\s+(\S.*)$/i`,
  String.raw`/(<[^<>]*?\s)style=/g`,
  String.raw`/\bAQ\.[0-9A-Za-z_*-]{16,}/g`,
  String.raw`/^create (unique )?index concurrently (\w+) on (\w+)\s([^]+)$/i`,
  String.raw`/^form-data\s*(;|$)/i`,
  String.raw`/position (\d+)/`,
  String.raw`/^utf-8'[^']*'(.*)$/i`,
  String.raw`/^-- (phase|transaction|works with): (\w+)$/`,
  String.raw`/\bhf_[0-9A-Za-z*]{6,}/g`,
  String.raw`/^\s*respond-async\s*(;|$)/i`,
  String.raw`/\{(\w+)\}/g`,
  String.raw`/^\/(?:v\w+\/)files\//`,
  String.raw`/^data:([^,]*?);base64,/i`,
  String.raw`/^data:[^,]*;base64,(.*)$/s`,
  String.raw`/^\/dashboard(\/[\w\-./~%]*)?(\?[\w\-./~%=&:+]*)?$/`,
  String.raw`/^(data:|https?:\/\/)\S*$/`,
  String.raw`/^graders(?:\[(\d+)\])?(?:\.(\w+))?/`,
  String.raw`/^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/`,
  String.raw`/^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/`,
  String.raw`/^(?:[\w~-]+(?:\.[\w~-]+)*\.?|\[[\da-fA-F:.]{2,45}\])(?::(\d{1,5}))?$/`,
  String.raw`/^(localhost|127(\.\d+){3}|\[::1\])$/`,
  String.raw`/^(models\/)+/`,
  String.raw`/\S[^\p{L}\p{N}]+\S/u`,
  String.raw`/^filters\.(\w+)/`,
  String.raw`/'(?:-\w, )?(--?[^'\s=<]+)/`,
  String.raw`/-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g`,
  String.raw`/^((?:\/[^/:*{]+){1,2}\/):(\w+)\{[^{}]*:(\w+)\}$/`,
  String
    .raw`/^(?:(\d{1,2}) ([A-Za-z]{3})[a-z]* (\d{4})|(\d{4}-\d\d-\d\d))(?:(?:, ?|T)(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?:Z| UTC)?)?$/`,
  String.raw`/^(\d+) (\w{3})\w* (\d{4})(?:, ?(\d\d:\d\d))?/`,
  String.raw`/^(app|user):(.+)$/s`,
  String.raw`/^Bearer +/i`,
  String.raw`/^[^?]*\/responses(?:\?|$)/`,
  String.raw`/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i`,
  String.raw`/^\/chat(\/v1(?:beta)?\/.*)$/s`,
  String.raw`/^you have reached your specified (?:\w+ )?api usage limits/i`,
  String.raw`/^(?:openai\/|ft:)?(?:gpt-[34]|chatgpt-|gpt-[\d.]+-chat)/`,
  String.raw`/^(\d{4}-\d\d-\d\d)T.*(?:Z|[+-]\d\d:\d\d)$/i`,
  String.raw`/:[a-zA-Z]+$|^(\/chat)?\/v1beta\//`,
  String.raw`/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/`,
  String.raw`/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/i`,
  String.raw`/^(.*\/)?dall-e-/`,
  String.raw`/^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/`,
  String.raw`/^((\/(?:[^/:]+\/)?v\w+\/)[^:].*):(\w+)$/s`,
  String.raw`/^([^/]+)\/models\//`,
  String.raw`/^((?:\/[^/:*{]+){1,2}\/):\w+\{[^{}]*:(\w+)\}$/`,
  String.raw`/^(\d+)-(\d+)-(\d+)(T.*)?$/`,
  String.raw`/^\s*https?:/i`,
  String.raw`/^(\d{4})_(\w+)\.sql$/`,
  String.raw`/\s+/g`,
  String.raw`/^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/`,
  String.raw`/^\d+:(\d+):([\d,]*)@(.+)$/`,
  String.raw`/^(-?)(\d+)(?:\.(\d{1,9}))?$/`,
  String.raw`/^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/`,
  String.raw`/^(\w+)(?:\[(\d+)\])?/`,
  String.raw`/^(\S{24})_([\w-]+)$/`,
  String.raw`/^audio\/[\w.+-]+$/`,
  String.raw`/^image\/[\w.+-]+$/`,
  String.raw`/(\p{M}{30})\p{M}+/gu`,
  String.raw`/^\s*\d+(\.\d+)?\s*$/`,
  String.raw`/:[a-z]+[A-Z]\w*$/`,
  String.raw`/^(\d+(?:\.\d+)?)s$/`,
  String.raw`/^(v\d\w*|api)$/`,
  String.raw`/^\[(.*)\](:\d{1,5})?$/`,
  String.raw`/^\d+$/`,
]);
