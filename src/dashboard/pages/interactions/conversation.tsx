import { beginning } from "../../../base/characters.ts";
import { parseExactly } from "../../../base/exact_json.ts";
import { indentJson } from "../../../base/indent_json.ts";
import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import type {
  ShownAnswer,
  ShownPart,
  ShownTool,
  ShownTurn,
  Transcript,
} from "../../../records/transcript.ts";
import { cutTurn, fitTurns } from "./fit_turns.ts";
import { count, counted } from "../../amounts.ts";
import { isAudible, isShowable, type MediaAddresses, type MediaPart } from "./media.ts";
import { BoxedFact } from "../../components.tsx";
import { shortText } from "../../format.ts";

type WithMedia = { media: MediaAddresses };

/** Shows a call's messages in order, with the answer at the end. */
export function Conversation({ detail, transcript, media }: WithMedia & {
  detail: InteractionDetail;
  transcript: Transcript;
}) {
  const { request, answers } = transcript;
  return (
    <section class="conversation">
      <h2>Conversation</h2>
      {request && (request.settings.length > 0 || request.tools.length > 0)
        ? <Asked settings={request.settings} tools={request.tools} />
        : null}
      <ol class="turns">
        {request
          ? <Turns turns={request.turns} media={media} where="; the raw request has them" />
          : <NoTurns detail={detail} />}
        {answers ? <Answers answers={answers} media={media} /> : <NoAnswer detail={detail} />}
      </ol>
    </section>
  );
}

/** Shows what one call added to its session: the messages since the last answer, and its answer. */
export function AddedTurns({ turns, answers, media }: WithMedia & {
  turns: readonly ShownTurn[] | undefined;
  answers: readonly ShownAnswer[] | undefined;
}) {
  return (
    <ol class="turns">
      {turns
        ? <Turns turns={turns} media={media} where="" />
        : <li class="turn-gap">The request is not stored, or can't be shown.</li>}
      {answers
        ? <Answers answers={answers} media={media} />
        : <li class="turn-gap">No answer is stored.</li>}
    </ol>
  );
}

/** Shows as many turns as fit; `where` tells people where to find those that are left out. */
function Turns({ turns, media, where }: WithMedia & {
  turns: readonly ShownTurn[];
  where: string;
}) {
  const { first, leftOut, last } = fitTurns(turns);
  return (
    <>
      {first.map((turn) => <Turn turn={turn} media={media} />)}
      {leftOut === 0
        ? null
        : <li class="turn-gap">{`${count(leftOut)} turns between are left out${where}.`}</li>}
      {last.map((turn) => <Turn turn={turn} media={media} />)}
    </>
  );
}

const unrecorded = "The content of this call was not recorded, as its key or the call requested.";

function NoTurns({ detail: { request, summary } }: { detail: InteractionDetail }) {
  return (
    <li class="turn-gap">
      {summary.recording === "metadata"
        ? unrecorded
        : request === null
        ? "The request is not stored: it never was, or its retention time is over."
        : "The request can't be shown as a conversation; see below, as it was sent."}
    </li>
  );
}

function NoAnswer({ detail: { response, summary } }: { detail: InteractionDetail }) {
  if (summary.recording === "metadata") return null;
  return (
    <li class="turn-gap">
      {response !== null
        ? "The answer can't be shown as a conversation; see below, as it was received."
        : summary.status === "completed"
        ? "The answer is not stored: its retention time is over."
        : "No answer was received."}
    </li>
  );
}

/** Settings and tools, collapsed since people seldom need them. */
function Asked({ settings, tools }: {
  settings: readonly { name: string; value: string }[];
  tools: readonly ShownTool[];
}) {
  const names = [
    ...(settings.length === 0 ? [] : [counted(settings.length, "setting")]),
    ...(tools.length === 0 ? [] : [counted(tools.length, "tool")]),
  ];
  return (
    <details class="asked">
      <summary>{names.join(", ")}</summary>
      <dl>
        {settings.map(({ name, value }) => <BoxedFact name={name}>{value}</BoxedFact>)}
      </dl>
      {tools.slice(0, 100).map(({ name, description, parameters }) => (
        <div class="tool">
          <h3>
            <code>{name}</code>
          </h3>
          {description === undefined ? null : <p class="muted">{shortText(description, 500)}</p>}
          {parameters === undefined ? null : <Code text={parameters} label={`${name} takes`} />}
        </div>
      ))}
    </details>
  );
}

const roles = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  tool: "Tool",
} as const;

function Turn({ turn, media }: WithMedia & { turn: ShownTurn }) {
  return (
    <li class={`turn turn-${turn.role}`}>
      <p class="turn-role">
        {roles[turn.role]}
        {turn.name === undefined ? null : <span class="muted">{` ${turn.name}`}</span>}
      </p>
      <div class="turn-parts">
        <Parts parts={turn.parts} media={media} />
        {turn.parts.length === 0 ? <p class="muted">No content that can be shown.</p> : null}
      </div>
    </li>
  );
}

function Answers({ answers, media }: WithMedia & { answers: readonly ShownAnswer[] }) {
  return (
    <>
      {answers.map(({ parts, finish }, at) => (
        <li class="turn turn-answer">
          <p class="turn-role">{answers.length === 1 ? "Answer" : `Answer ${at + 1}`}</p>
          <div class="turn-parts">
            <Parts parts={parts} media={media} />
            {parts.length === 0 ? <p class="muted">No content.</p> : null}
            <p class="turn-end">
              {finish === undefined ? "The answer was cut off." : `Ended: ${finish}`}
            </p>
          </div>
        </li>
      ))}
    </>
  );
}

function Parts({ parts, media }: WithMedia & { parts: readonly ShownPart[] }) {
  const fitting = cutTurn(parts);
  return (
    <>
      {fitting.parts.map((part) => <Part part={part} media={media} />)}
      {fitting.isWhole
        ? null
        : <p class="muted">Truncated here; see the raw payload below for all of it.</p>}
    </>
  );
}

function Part({ part, media }: WithMedia & { part: ShownPart }) {
  switch (part.type) {
    case "text":
      return <PlainText text={part.text} />;
    case "refusal":
      return (
        <div class="refusal">
          <PlainText text={part.text} />
        </div>
      );
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          {part.text === ""
            ? <p class="muted">Encrypted: only its vendor can read it.</p>
            : <PlainText text={part.text} />}
        </details>
      );
    case "tool-call":
      return (
        <div class="call">
          <p class="call-name">
            Calls <code>{part.name}</code> <span class="muted">{part.id}</span>
          </p>
          <Code text={part.arguments} label={`Arguments of ${part.name}`} />
        </div>
      );
    case "tool-result":
      return (
        <div class={part.isError ? "call call-failed" : "call"}>
          <p class="call-name">
            {part.isError ? "Error of " : "Result of "}
            <code>{part.name === "" ? "a tool" : part.name}</code>{" "}
            <span class="muted">{part.callId}</span>
          </p>
          <Parts parts={part.parts} media={media} />
        </div>
      );
    case "media":
      return <Medium part={part} address={media.get(part)} />;
    case "vendor":
      return (
        <details class="reasoning">
          <summary>The vendor's own tools</summary>
          <Code text={part.text} label="The vendor's own tools" />
        </details>
      );
  }
}

/** Shows text as it was written, or indented if it is JSON. */
function PlainText({ text }: { text: string }) {
  if (isJson(text)) return <Code text={text} label="JSON" />;
  return <div class="words">{text}</div>;
}

function Code({ text, label }: { text: string; label: string }) {
  const shown = isJson(text) ? indentJson(text, codeChars).text : beginning(text, codeChars);
  return <pre class="code" tabindex={0} aria-label={label}><code>{shown}</code></pre>;
}

/** The most characters that are shown, after indenting: this may lengthen a text a lot. */
const codeChars = 20_000;

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    parseExactly(text);
    return true;
  } catch {
    return false;
  }
}

function Medium({ part, address }: { part: MediaPart; address: string | undefined }) {
  const { kind, mimeType, source } = part;
  if (address !== undefined && isShowable(mimeType)) {
    return (
      <a class="medium" href={address}>
        <img src={address} alt={`Image, ${mimeType}`} loading="lazy" />
      </a>
    );
  }
  if (address !== undefined && isAudible(mimeType)) {
    return <audio class="medium" controls preload="none" src={address}></audio>;
  }
  const what = `${kind}${mimeType === undefined ? "" : ` (${mimeType})`}`;
  return (
    <p class="medium-elsewhere">
      {address === undefined ? `${what}: ` : <a href={address} download>{`Download ${what}`}</a>}
      {source.type === "address" ? <code>{shortText(source.url, 500)}</code> : null}
      {source.type === "vendor-file" ? <code>{shortText(source.id, 200)}</code> : null}
    </p>
  );
}
