/**
 * Simulated vendors on loopback, one server each: they check what they receive as the real ones do
 * and answer in the same shapes, deterministically. They share no code with the gateway.
 * `simulator/behaviours.ts` lists the magic words that make them misbehave.
 */
import { aggregatorMessages } from "./simulator/aggregator_messages.ts";
import { AGGREGATOR_MEDIA } from "./simulator/aggregator_media.ts";
import { chatFront } from "./simulator/chat_front.ts";
import { VENDOR_A, VENDOR_B, VENDOR_F, VENDOR_G } from "./simulator/chat_vendors.ts";
import { GENERATE_FRONT } from "./simulator/generate_front.ts";
import { HOSTED_MEDIA } from "./simulator/hosted_media.ts";
import { MESSAGES_FRONT } from "./simulator/messages_front.ts";
import { speech, transcriptions, translations } from "./simulator/openai_audio.ts";
import { imageEdits, imageGenerations } from "./simulator/openai_images.ts";
import { responsesRoutes } from "./simulator/responses.ts";
import { serveVendor, type VendorFront } from "./simulator/server.ts";
import { XAI_MEDIA } from "./simulator/xai_media.ts";
import { type Received, VendorState } from "./simulator/state.ts";

export type { Received } from "./simulator/state.ts";

export const LABELS = [
  "vendor-a",
  "vendor-b",
  "vendor-c",
  "vendor-d",
  "vendor-e",
  "vendor-f",
  "vendor-g",
] as const;

export type Label = (typeof LABELS)[number];

export interface Simulators {
  /** Base URL, with its version segment, and key of each. vendor-e is the server of vendor-d. */
  vendors: Record<Label, { baseUrl: string; apiKey: string }>;
  /** The last 200 requests that a vendor received, oldest first. */
  requests(label: Label): readonly Received[];
  /** Answers that are under way at this moment. */
  active(label: Label): number;
  /** Calls so far whose client left before the answer's end. */
  aborted(label: Label): number;
  close(): Promise<void>;
}

export interface SimulatorOptions {
  /** Defaults to 127.0.0.1. */
  hostname?: string;
  /** Own keys instead of the default ones; vendor-e always has vendor-d's. */
  keys?: Partial<Record<Label, string>>;
}

/** Starts all simulated vendors on free ports. */
export function startSimulators(options: SimulatorOptions = {}): Promise<Simulators> {
  const hostname = options.hostname ?? "127.0.0.1";
  const start = (label: Label, defaultKey: string, front: VendorFront) => {
    const state = new VendorState(label, options.keys?.[label] ?? defaultKey);
    return { state, server: serveVendor(state, front, hostname) };
  };
  const generate = start("vendor-d", "AIzaSimulatedVendorD0000", GENERATE_FRONT);
  const running = {
    "vendor-a": start(
      "vendor-a",
      "hf_simulatedVendorA0000",
      chatFront(VENDOR_A, [...responsesRoutes(VENDOR_A), ...HOSTED_MEDIA]),
    ),
    "vendor-b": start(
      "vendor-b",
      "sk-simulated-vendor-b-0000",
      chatFront(VENDOR_B, [
        ...responsesRoutes(VENDOR_B),
        { method: "POST", path: /^\/images\/generations$/, handle: imageGenerations },
        { method: "POST", path: /^\/images\/edits$/, handle: imageEdits },
        { method: "POST", path: /^\/audio\/speech$/, handle: speech },
        { method: "POST", path: /^\/audio\/transcriptions$/, handle: transcriptions },
        { method: "POST", path: /^\/audio\/translations$/, handle: translations },
      ]),
    ),
    "vendor-c": start("vendor-c", "sk-simulated-vendor-c-0000", MESSAGES_FRONT),
    "vendor-d": generate,
    "vendor-e": generate,
    "vendor-f": start(
      "vendor-f",
      "sk-simulated-vendor-f-0000",
      chatFront(VENDOR_F, [
        ...responsesRoutes(VENDOR_F),
        ...aggregatorMessages(VENDOR_F),
        ...AGGREGATOR_MEDIA,
      ]),
    ),
    "vendor-g": start(
      "vendor-g",
      "sk-simulated-vendor-g-0000",
      chatFront(VENDOR_G, [...responsesRoutes(VENDOR_G), ...XAI_MEDIA]),
    ),
  } satisfies Record<Label, unknown>;
  const vendors = Object.fromEntries(
    LABELS.map((label) => {
      const { server, state } = running[label];
      return [label, { baseUrl: server.baseUrl, apiKey: state.apiKey }];
    }),
  ) as Simulators["vendors"];
  return Promise.resolve({
    vendors,
    requests: (label) => running[label].state.received,
    active: (label) => running[label].state.active,
    aborted: (label) => running[label].state.aborted,
    async close() {
      await Promise.all(Object.values(running).map(({ server }) => server.close()));
    },
  });
}
