import { raw } from "hono/html";
import { efforts } from "../../../playground/playground_calls.ts";
import { describedBy, Empty, Field, LinkLine, PostForm, Snippet } from "../../components.tsx";
import { type Option, SelectField, TextField } from "../../fields.tsx";
import { markdownHtml } from "../../markdown.ts";
import type { Figures } from "./answer.ts";
import type { ModelGroup } from "./page.tsx";
import type { Talk } from "./talk.ts";

/** The contents of the playground's page. */
export interface Shown {
  talk: Talk;
  /** A message that isn't sent yet. */
  prompt?: string;
  /** Reasoning of the last answer. */
  reasoning?: string;
  figures?: Figures;
  problem?: string;
  code?: readonly { title: string; text: string }[];
}

interface ViewProps {
  groups: readonly ModelGroup[];
  /** The model to preselect. */
  example: string | undefined;
  shown: Shown;
  csrf: string;
}

export function PlaygroundBody(props: ViewProps) {
  const { groups, shown, csrf } = props;
  if (groups.length === 0) return <NoModels />;
  return (
    <>
      <PostForm action="/dashboard/playground" csrf={csrf} class="playground">
        <Conversation shown={shown} />
        <Settings {...props} />
      </PostForm>
      <section id="code" class="stack code-panel" aria-label="Code">
        {shown.code?.map(({ title, text }) => <Snippet title={title} text={text} />)}
      </section>
      <template id="turn">
        <Turn role="assistant" text="" />
      </template>
    </>
  );
}

function NoModels() {
  return (
    <Empty title="No model can be called yet">
      <p>
        Calls need a vendor API key: the service's own, set by its operator, or one of yours.
      </p>
      <LinkLine href="/dashboard/settings/vendor-keys" primary>Vendor API keys</LinkLine>
    </Empty>
  );
}

function Conversation({ shown }: { shown: Shown }) {
  const { talk: { request: { turns }, fieldErrors }, prompt, problem, figures, reasoning } = shown;
  const last = turns.length - 1;
  return (
    <div class="conversation">
      <div class="talk-turns" id="turns" role="log" aria-label="Conversation" tabindex={0}>
        {turns.map(({ role, text }, at) => (
          <Turn
            role={role}
            text={text}
            reasoning={at === last ? reasoning : undefined}
            figures={at === last && problem === undefined ? figures : undefined}
          />
        ))}
        {turns.length > 0 ? null : (
          <p class="muted talk-empty" id="no-turns">
            Pick a model, write a message, and the answer appears here.
          </p>
        )}
      </div>
      <p class="notice notice-failed" id="problem" role="alert" hidden={problem === undefined}>
        {problem ?? ""}
      </p>
      <div class="composer">
        <label for="prompt" class="visually-hidden">Message</label>
        <textarea
          id="prompt"
          name="prompt"
          rows={3}
          dir="auto"
          placeholder="Write a message"
          {...describedBy("prompt", { hint: true, error: fieldErrors.prompt !== undefined })}
        >
          {prompt ?? ""}
        </textarea>
        {fieldErrors.prompt === undefined
          ? null
          : <p class="error" id="prompt-error">{fieldErrors.prompt}</p>}
        {fieldErrors.turns === undefined ? null : <p class="error">{fieldErrors.turns}</p>}
        <div class="buttons">
          <button type="submit" class="button button-primary" id="send">Send</button>
          <button type="button" class="button" id="stop" hidden>Stop</button>
          <a class="button" href="/dashboard/playground">Start over</a>
          <span class="hint" id="prompt-hint">Ctrl + Enter sends</span>
        </div>
      </div>
    </div>
  );
}

function Turn({ role, text, reasoning, figures }: {
  role: "user" | "assistant";
  text: string;
  reasoning?: string | undefined;
  figures?: Figures | undefined;
}) {
  return (
    <article class={`turn turn-${role}`}>
      <h2>{role === "user" ? "You" : "Model"}</h2>
      <details class="reasoning" hidden={!reasoning}>
        <summary>Reasoning</summary>
        <div class="said-text muted">{reasoning ?? ""}</div>
      </details>
      <TurnText role={role} text={text} />
      <p class="muted took">
        {figures === undefined ? null : <Took figures={figures} />}
      </p>
      <input type="hidden" name="role" value={role} />
      <input type="hidden" name="content" value={text} />
    </article>
  );
}

/** Renders models' texts as Markdown; people's messages are shown as they were sent. */
function TurnText({ role, text }: { role: "user" | "assistant"; text: string }) {
  const html = role === "assistant" && text !== "" ? markdownHtml(text) : undefined;
  return html === undefined
    ? (
      <div class="said">
        <MessageText text={text} />
      </div>
    )
    : <div class="said said-markdown">{raw(html)}</div>;
}

/** Links to the record in a new tab: leaving this page would lose the conversation. */
function Took({ figures: { id, summary } }: { figures: Figures }) {
  const address = `/dashboard/interactions/${id}`;
  return (
    <>
      {summary} {id === null ? null : <a href={address} target="_blank">Interaction</a>}
    </>
  );
}

const effortOptions: readonly Option[] = [
  ["", "The model's default"],
  ...efforts.map((one): Option => [one, one]),
];

function Settings({ groups, example, shown: { talk } }: ViewProps) {
  const { request, temperature, maxTokens, fieldErrors } = talk;
  const values = {
    temperature: [temperature],
    token_limit: [maxTokens],
    effort: [request.effort ?? ""],
  };
  const form = { values, fieldErrors };
  const all = groups.flatMap(({ models }) => models);
  const chosen = all.includes(request.model)
    ? request.model
    : all.find((one) => one === example) ?? all[0];
  return (
    <div class="panel settings">
      <Field id="model" label="Model" error={fieldErrors.model}>
        <select id="model" name="model">
          {groups.map(({ title, models }) => (
            <optgroup label={title}>
              {models.map((one) => <option value={one} selected={one === chosen}>{one}</option>)}
            </optgroup>
          ))}
        </select>
      </Field>
      <Field id="system" label="System prompt">
        <textarea id="system" name="system" rows={5} dir="auto">
          {request.system}
        </textarea>
      </Field>
      <div class="columns">
        <TextField
          {...form}
          id="temperature"
          label="Temperature"
          inputmode="decimal"
          placeholder="default"
        />
        <TextField
          {...form}
          id="token_limit"
          label="Token limit"
          inputmode="numeric"
          placeholder="default"
        />
      </div>
      <SelectField {...form} id="effort" label="Reasoning effort" options={effortOptions} />
      <button type="submit" class="button" id="show-code" formaction="/dashboard/playground/code">
        Show code
      </button>
    </div>
  );
}

/** Shows a message as text: blocks between code fences as code, the rest with its line breaks. */
function MessageText({ text }: { text: string }) {
  return (
    <>
      {partsOf(text).map(({ isCode, text }) =>
        isCode
          ? <pre class="said-code" tabindex={0} aria-label="Code"><code>{text}</code></pre>
          : <div class="said-text">{text}</div>
      )}
    </>
  );
}

/** The same as `partsOf` in assets/playground.js. */
function partsOf(text: string): { isCode: boolean; text: string }[] {
  return text.split(/^```/m).map((part, at) => {
    const isCode = at % 2 === 1;
    // The text after an opening fence names the language.
    return {
      isCode,
      text: (isCode ? part.replace(/^[^\n]*\n?/, "") : part).replace(/^\n|\n$/g, ""),
    };
  }).filter((part) => part.text !== "");
}
