import type { Account } from "../../../keys/account.ts";
import type { PlaygroundCalls, PlaygroundRequest } from "../../../playground/playground_calls.ts";
import { type Page, type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import type { Form } from "../../form.ts";
import { modelName } from "../../vendor_names.ts";
import { eventLines, figuresOf, type LineEvent } from "./answer.ts";
import { codeOf } from "./code.ts";
import { hasNoPrompt, maxTextLength, readTalk, type Talk, type TalkField } from "./talk.ts";
import { PlaygroundBody, type Shown } from "./view.tsx";

export interface PlaygroundDeps extends PlaygroundCalls {
  /** Returns the models that the account can call at a known price, by vendor. */
  models: (accountId: number) => Promise<ModelGroup[]>;
}

export interface ModelGroup {
  /** The vendor's common name, with its label. */
  title: string;
  /** Ids with the vendor's common name. */
  models: string[];
}

const address = "/dashboard/playground";
/** Enough for a long conversation in the form's encoding. */
const maxFormBytes = 16 * maxTextLength;

/** The playground: conversations with a model, as calls of the account. */
export function playgroundRoutes(app: Routes, ctx: PageContext): void {
  app.get(
    address,
    "member",
    async (request) => await playground(ctx, request, { talk: empty(request) }),
  );
  app.post(address, "member", async (form, request) => {
    const talk = readTalk(form);
    if (isWrong(talk)) {
      return { ...await playground(ctx, request, unsent(talk, form)), status: 400 };
    }
    return await playground(ctx, request, await wholeAnswer(ctx, request, talk));
  }, { maxFormBytes });
  app.post(`${address}/stream`, "member", (form, request) => {
    const talk = readTalk(form);
    const events = isWrong(talk) ? refused(talk) : answered(ctx, request, talk);
    return new Response(eventLines(events), {
      headers: { "content-type": "application/x-ndjson", "x-accel-buffering": "no" },
    });
  }, { maxFormBytes });
  app.post(`${address}/code`, "member", async (form, request) => {
    const talk = readTalk(form);
    const code = codeOf(`${ctx.baseUrl}/chat/v1`, ctx.playground.bodyOf(lastCall(talk.request)));
    return await playground(ctx, request, { ...unsent(talk, form), code });
  }, { maxFormBytes });
}

async function playground(ctx: PageContext, request: PageRequest, shown: Shown): Promise<Page> {
  const groups = await ctx.playground.models(request.accountId);
  const { talk } = shown;
  // Links and programs may name the vendor by its label.
  const model = modelName(ctx.vendorNames, talk.request.model);
  const example = ctx.exampleModels.anyModel();
  return {
    title: "Playground",
    section: "playground",
    lead: "Calls from here are charged, limited and recorded like those of your applications.",
    scripts: ["playground.js"],
    body: (
      <PlaygroundBody
        {...{ groups, example }}
        shown={{ ...shown, talk: { ...talk, request: { ...talk.request, model } } }}
        csrf={request.csrf}
      />
    ),
  };
}

function empty(request: PageRequest): Talk {
  const model = request.query("model") ?? "";
  return {
    request: { model, system: "", turns: [] },
    temperature: "",
    maxTokens: "",
    fieldErrors: {},
  };
}

function isWrong(talk: Talk): boolean {
  if (hasNoPrompt(talk)) talk.fieldErrors.prompt ??= "Write a message.";
  return Object.keys(talk.fieldErrors).length > 0;
}

/** Cuts the request to the turns that led to the last answer, or would lead to the next one. */
function lastCall(request: PlaygroundRequest): PlaygroundRequest {
  const last = request.turns.findLastIndex(({ role }) => role === "user");
  return last === -1 ? request : { ...request, turns: request.turns.slice(0, last + 1) };
}

/** Shows the form's message, which isn't sent, in its field again. */
function unsent(talk: Talk, form: Form): Shown {
  const { prompt = "" } = form.filledExactly("prompt");
  return { talk: unsaid(talk, prompt), prompt };
}

/** Removes a message from the conversation that isn't sent yet. */
function unsaid(talk: Talk, prompt: string): Talk {
  if (prompt === "") return talk;
  return { ...talk, request: { ...talk.request, turns: talk.request.turns.slice(0, -1) } };
}

function answered(ctx: PageContext, page: PageRequest, talk: Talk): AsyncIterable<LineEvent> {
  const { account, person } = page.session;
  return figuresOf(ctx.playground.send({
    ...{ account: account satisfies Account, personId: person.id, request: talk.request },
    signal: page.signal,
  }));
}

async function* refused(talk: Talk): AsyncGenerator<LineEvent> {
  for (const [field, message] of Object.entries(talk.fieldErrors)) {
    yield { kind: "error", message, field: field as TalkField };
  }
}

async function wholeAnswer(ctx: PageContext, request: PageRequest, talk: Talk): Promise<Shown> {
  let [text, reasoning] = ["", ""];
  const shown: Shown = { talk };
  for await (const event of answered(ctx, request, talk)) {
    if (event.kind === "text") text += event.text;
    if (event.kind === "reasoning") reasoning += event.text;
    if (event.kind === "error") shown.problem = event.message;
    if (event.kind === "end") shown.figures = event;
  }
  if (text === "" && shown.problem !== undefined) {
    // Puts the message back into its field, to be sent again.
    const prompt = talk.request.turns.at(-1)?.text ?? "";
    return { ...shown, talk: unsaid(talk, prompt), prompt };
  }
  const turns = [...talk.request.turns, { role: "assistant" as const, text }];
  return { ...shown, talk: { ...talk, request: { ...talk.request, turns } }, reasoning };
}
