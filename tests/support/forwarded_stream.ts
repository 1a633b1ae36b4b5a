import type { BodyHandlers, UpstreamBody } from "../../src/vendors/upstream.ts";
import type { Call } from "../../src/relay/call.ts";
import type { Ending } from "../../src/relay/ending.ts";
import { OpenStreams } from "../../src/relay/open_streams.ts";
import {
  type ForwardDeps,
  forwardStream,
  type StreamListener,
} from "../../src/relay/stream_forwarder.ts";
import { FakeTimers } from "./fake_timers.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

export interface ForwardSetting
  extends Partial<Pick<ForwardDeps, "onDisconnect" | "signal" | "trace" | "heavyStep">> {
  listener?: Partial<StreamListener>;
  prepareEnd?: Call["prepareEnd"];
}

const noWork = () => Promise.resolve();

/**
 * A stream whose vendor sends what the test says: pieces that begin with a colon are comments, "end"
 * is the last event.
 */
export function setUpForwarder(
  { listener: own, prepareEnd = noWork, ...more }: ForwardSetting = {},
) {
  const timers = new FakeTimers();
  const recorded = Promise.withResolvers<void>();
  const endings: Ending[] = [];
  const did: string[] = [];
  let vendor: BodyHandlers | undefined;
  const body: UpstreamBody = {
    onData: (handlers) => vendor = handlers,
    readAll: () => Promise.reject(new Error("not read whole")),
    pause: () => void did.push("pause"),
    resume: () => void did.push("resume"),
    destroy: () => void did.push("destroy"),
  };
  const listener: StreamListener = {
    take(piece, output) {
      const text = new TextDecoder().decode(piece);
      if (!text.startsWith(":")) output.begin();
      if (text === "end") output.complete();
      if (!text.startsWith(":")) output.mayEnd(text === "finish");
      output.send(piece);
    },
    end: () => bytesOf("."),
    fail: ({ code }) => bytesOf(code),
    settle: (isComplete) => (did.push(isComplete ? "whole" : "part"), {}),
    ...own,
  };
  const call: Partial<Call> = {
    streams: new OpenStreams({ perAccount: 1, unreadMs: 1000 }, timers.later),
    settle: (ending) => (endings.push(ending), recorded.promise),
    ...{ prepareEnd, noteWork() {} },
    stepFailed: (step) => void did.push(`${step} failed`),
  };
  const stream = forwardStream({
    ...{ body, onDisconnect: "cancel", signal: new AbortController().signal, httpStatus: 200 },
    ...{ trace: {}, ...more },
    ...{ call: call as Call, listener, nowMs: () => timers.clock.monotonicMs() },
  });
  const send = (text: string) => vendor!.data(bytesOf(text));
  const [end, fail] = [() => vendor!.end(), (thrown: unknown) => vendor!.error(thrown)];
  return { timers, recorded, endings, did, stream, send, end, fail, streams: call.streams! };
}
