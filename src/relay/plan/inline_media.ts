import { Buffer } from "node:buffer";
import type {
  CanonicalRequest,
  MediaPart,
  ToolResultPart,
  Turn,
} from "../../dialects/kernel/canonical_request.ts";
import { base64Source } from "../../dialects/kernel/media_source.ts";
import { Fault } from "../../shared/fault.ts";
import {
  type FetchCaller,
  isAccepted,
  maxPublicBytes,
  type PublicFetch,
} from "../../vendors/public_fetch.ts";

/**
 * Fetches the media that a request names by URL and puts it in as data, for targets that take no
 * URLs. Each distinct URL is fetched once, after `mayFetch` where there are any; parts that `isWanted`
 * rejects stay. Rejects with a Fault whose `param` and message begin with the part's path, or with an
 * abort when the caller's signal fires. The request itself is not changed.
 */
export async function inlineMedia(
  request: CanonicalRequest,
  fetch: PublicFetch,
  caller: FetchCaller & { mayFetch?: () => Promise<void> },
  isWanted: (part: MediaPart) => boolean = () => true,
): Promise<CanonicalRequest> {
  const wanted = collect(request.turns, isWanted);
  if (wanted.size === 0) return request;
  if (caller.mayFetch) await caller.mayFetch();
  const fetched = await fetchAll([...wanted.values()], fetch, caller);
  const inlined = (part: Part): Part => {
    if (part.type === "tool-result") return { ...part, parts: part.parts.map(inlined) as Results };
    const media = isNamed(part) && isWanted(part) ? fetched.get(part.source.url) : undefined;
    return media === undefined ? part : inlinedPart(part as NamedPart, media);
  };
  return {
    ...request,
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(inlined) })),
  };
}

const maxAddresses = 20;
const maxAtOnce = 4;
/** For all URLs of one request together: as much as a request's own body may hold by default. */
const maxTotalBytes = 32 * 1024 * 1024;

type Part = Turn["parts"][number];
type Results = ToolResultPart["parts"];
type NamedPart = MediaPart & { source: { type: "url" } };

/** One URL and the parts that name it, in their order. */
interface Wanted {
  readonly url: string;
  readonly parts: NamedPart[];
}

interface Fetched {
  readonly data: string;
  readonly mimeType: string;
}

/**
 * Types by kind of part. Some clients put documents where images go; the type says what they are.
 */
const accepted: Readonly<Record<MediaPart["kind"], readonly string[]>> = {
  image: ["image/*", "application/pdf"],
  audio: ["audio/*"],
  video: ["video/*"],
  file: ["application/pdf", "text/plain", "image/*", "audio/*", "video/*"],
};

/** Storage buckets send these types for files without a type: the first bytes decide. */
const vagueTypes: readonly string[] = ["application/octet-stream", "binary/octet-stream"];

function collect(
  turns: readonly Turn[],
  isWanted: (part: MediaPart) => boolean,
): ReadonlyMap<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const part of mediaNamedByUrl(turns, isWanted)) {
    const { url } = part.source;
    const existing = wanted.get(url);
    if (existing) existing.parts.push(part);
    else if (wanted.size < maxAddresses) wanted.set(url, { url, parts: [part] });
    else throw faultAt(part, `at most ${maxAddresses} URLs are fetched for one request`);
  }
  return wanted;
}

/**
 * Returns the parts that name a URL, also in tools' results. Plain loops, since a request may have
 * hundreds of thousands of parts.
 */
function mediaNamedByUrl(
  turns: readonly Turn[],
  isWanted: (part: MediaPart) => boolean,
): NamedPart[] {
  const named: NamedPart[] = [];
  const collectFrom = (part: Part) => {
    if (isNamed(part) && isWanted(part)) named.push(part);
  };
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type !== "tool-result") collectFrom(part);
      else for (const one of part.parts) collectFrom(one);
    }
  }
  return named;
}

function isNamed(part: Part): part is NamedPart {
  return part.type === "media" && part.source.type === "url";
}

/** Fetches a few at a time; the first failure ends the others. */
async function fetchAll(
  wanted: readonly Wanted[],
  fetch: PublicFetch,
  { key, signal }: FetchCaller,
): Promise<ReadonlyMap<string, Fetched>> {
  const fetched = new Map<string, Fetched>();
  const failed = new AbortController();
  const either = { key, signal: AbortSignal.any([signal, failed.signal]) };
  let next = 0;
  let totalBytes = 0;
  const work = async () => {
    for (let one = wanted[next++]; one !== undefined; one = wanted[next++]) {
      const { bytes, mimeType } = await fetchOne(one, fetch, either);
      totalBytes += bytes.byteLength;
      if (totalBytes > maxTotalBytes) {
        throw faultAt(
          one.parts[0]!,
          `the URLs of one request return more than ${maxTotalBytes} bytes`,
        );
      }
      const { buffer, byteOffset, byteLength } = bytes;
      const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
      fetched.set(one.url, { data, mimeType });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(maxAtOnce, wanted.length) }, work));
  } catch (thrown) {
    failed.abort();
    throw thrown;
  }
  return fetched;
}

async function fetchOne({ url, parts }: Wanted, fetch: PublicFetch, caller: FetchCaller) {
  const accept = [...new Set(parts.flatMap((part) => accepted[part.kind])), ...vagueTypes];
  try {
    return await fetch.fetch(url, { ...caller, maxBytes: maxPublicBytes, accept });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    throw faultAt(parts[0]!, thrown.message, thrown);
  }
}

function inlinedPart(part: NamedPart, { data, mimeType }: Fetched): MediaPart {
  const declaredType = vagueTypes.includes(mimeType) ? part.source.mimeType : mimeType;
  const source = base64Source(data, declaredType);
  const accept = accepted[part.kind];
  if (!isAccepted(source.mimeType, accept)) {
    throw faultAt(
      part,
      `the URL returned '${source.mimeType.slice(0, 80)}'; expected ${accept.join(", ")}`,
    );
  }
  const isDocument = part.kind === "image" && !source.mimeType.startsWith("image/");
  return { ...part, source, kind: isDocument ? "file" : part.kind };
}

function faultAt(part: MediaPart, problem: string, cause?: Fault): Fault {
  return new Fault(cause?.code ?? "invalid_value", {
    param: part.path,
    message: `${part.path}: ${problem}.`,
    ...(cause?.note === undefined ? {} : { note: cause.note }),
    cause,
  });
}
