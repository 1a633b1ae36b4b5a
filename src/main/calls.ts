import { type ByteGate, createByteGate } from "../base/byte_gate.ts";
import type { FairQueue } from "../base/fair_queue.ts";
import { createGcHint } from "../base/gc_hint.ts";
import type { HeavyBodies } from "../base/heavy_json.ts";
import { createHeavyWork } from "../base/heavy_work.ts";
import { createValueGate } from "../base/value_gate.ts";
import type { Config } from "./config.ts";
import { Fault } from "../shared/fault.ts";
import { type CountRequest, countTokens } from "../relay/count_tokens.ts";
import { createImages, type ImagesRequest } from "../media/images.ts";
import { OpenStreams } from "../relay/open_streams.ts";
import { createOperations } from "../media/operations.ts";
import { createRelay, type RelayDeps } from "../relay/relay.ts";
import { createSpeech, type SpeechRequest } from "../media/speech.ts";
import { createPublicFetch } from "../vendors/public_fetch.ts";
import type { Registry } from "../vendors/registry.ts";

export function createCalls(
  config: Config,
  deps:
    & Omit<
      RelayDeps,
      | "newTransactionId"
      | "payloadMaxBytes"
      | "mediaInlineBytes"
      | "publicFetch"
      | "keepAliveMs"
      | "streams"
      | "answers"
    >
    & {
      newId: () => string;
      registry: Registry;
      /** The process's queue for looking up host names. */
      lookups: FairQueue;
    },
) {
  const { payloadMaxBytes, mediaInlineBytes, keepAliveMs } = config;
  const { clock, lookups } = deps;
  const publicFetch = createPublicFetch({
    ...{ clock, lookups },
    allowHosts: config.fetchAllowHosts,
  });
  const streams = new OpenStreams({
    perAccount: config.streamsPerAccountMax,
    unreadMs: config.callerUnreadTimeoutMs,
  });
  const all = {
    ...deps,
    newTransactionId: deps.newId,
    payloadMaxBytes,
    mediaInlineBytes,
    keepAliveMs,
    publicFetch,
    streams,
    /** Bounds the memory of vendors' whole answers (`BODIES_IN_FLIGHT_BYTES`). */
    answers: gateOf(config),
  };
  const operations = createOperations(all);
  const { registry } = deps;
  const vendorFetch = createPublicFetch({
    ...{ clock, lookups },
    allowHosts: [...config.fetchAllowHosts, ...hostsOf(registry)],
  });
  return {
    relay: createRelay(all),
    streams,
    /** Images, speech, transcription and embeddings. */
    operations,
    /** Images by any vendor that supports them. */
    generateImages: (request: ImagesRequest) =>
      createImages(
        { registry, operations, publicFetch, vendorFetch, mediaInlineBytes },
        request,
      ),
    /** Speech by any vendor that supports it. */
    generateSpeech: (request: SpeechRequest) => createSpeech({ registry, operations }, request),
    /** Bounds the memory of large requests (`BODIES_IN_FLIGHT_BYTES`). */
    bodies: gateOf(config),
    /** The same for messages of WebSockets, until their call begins. */
    socketMessages: gateOf(config),
    heavy: heavyBodies(),
    countTokens: (request: CountRequest) => countTokens(all, request),
  };
}

/** Everything that calls models. */
export type Calls = ReturnType<typeof createCalls>;

/** The vendors' hosts, some of which may be on the operator's own network. */
function hostsOf(registry: Registry): string[] {
  return [...new Set(registry.all.map(({ baseUrl }) => new URL(baseUrl).host))];
}

/** Suggest a minor GC after this many released bytes. */
const gcHintEveryBytes = 6 * 1024 * 1024;

/** Requests and answers have separate gates: a call that holds one may wait for the other. */
function gateOf({ bodiesInFlightBytes }: Config): ByteGate {
  const gcHint = createGcHint(gcHintEveryBytes);
  const released = (bytes: number) => gcHint.addReleased(bytes);
  return createByteGate({ capacityBytes: bodiesInFlightBytes, released });
}

/** Total JSON values of heavy bodies; somewhat more than the limit of one body. */
const heavyValues = 1_500_000;

function heavyBodies(): HeavyBodies {
  return {
    work: createHeavyWork({ tooLate: () => new Fault("overloaded") }),
    room: createValueGate(heavyValues),
  };
}
