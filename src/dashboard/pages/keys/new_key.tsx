import { agentNames } from "../../../../contracts/admin/keys.ts";
import { agentLines, agentTitles } from "../../../keys/agents.ts";
import { mintKey } from "../../../keys/credential.ts";
import { grantText } from "../../../keys/key_audit.ts";
import type { KeyRow } from "../../../keys/key_service.ts";
import { accountScopes, memberScopes } from "../../../keys/scopes.ts";
import { orNotFound, type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { CopyButton, LinkLine, Snippet } from "../../components.tsx";
import { exampleCall, exampleQuestion, exampleSnippets, unifiedBase } from "./key_examples.ts";
import { emptyForm, NewKeyForm } from "./new_key_form.tsx";
import { readNewKey } from "./read_new_key.ts";

/** The pages that create a key and show its value, once. */
export function newKeyRoutes(app: Routes, ctx: PageContext): void {
  app.get(
    "/dashboard/keys/new",
    "member",
    async (request) => formPage(ctx, request, await scopesFor(ctx, request), emptyForm, {}),
  );
  app.post("/dashboard/keys/new", "member", async (form, request) => {
    const scopes = await scopesFor(ctx, request);
    const { wanted, fieldErrors } = readNewKey(
      form,
      scopes,
      request.now,
      request.may("owner"),
      (name) => ctx.isModel(request.accountId, name),
    );
    if (!wanted) {
      return { ...formPage(ctx, request, scopes, form.values(), fieldErrors), status: 400 };
    }
    const created = mintKey(ctx.clock);
    const { environment, ...key } = wanted;
    await ctx.keys.create({
      ...key,
      accountId: request.accountId,
      id: created.id,
      prefix: created.prefix,
      hash: created.hash,
    }, {
      environment,
      madeBy: request.session.person.id,
      audit: request.note("api_key.created", key.name, grantText({ ...key, ...created })),
    });
    return {
      to: `/dashboard/keys/${created.id}/created`,
      notice: { kind: "key", id: created.id, value: created.value.reveal() },
    };
  });
  app.get("/dashboard/keys/:id/created", "member", async (request) => {
    const key = orNotFound(await ctx.keys.find(request.accountId, request.param("id")));
    const { notice } = request;
    const value = notice?.kind === "key" && notice.id === key.id ? notice.value : undefined;
    return {
      title: key.name,
      section: "keys",
      body: value === undefined ? <ShownBefore prefix={key.prefix} /> : (
        <ShownOnce
          value={value}
          snippets={snippetsOf(ctx, key, value)}
          agents={agentSnippets(ctx, key, value)}
        />
      ),
    };
  });
}

async function scopesFor(ctx: PageContext, request: PageRequest): Promise<string[]> {
  return accountScopes(ctx.scopes, request.accountId === await ctx.operatorAccountId());
}

function formPage(
  ctx: PageContext,
  request: PageRequest,
  scopes: readonly string[],
  values: Record<string, string[]>,
  fieldErrors: Readonly<Record<string, string>>,
) {
  return {
    title: "Create API Key",
    section: "keys" as const,
    body: (
      <NewKeyForm
        csrf={request.csrf}
        scopes={request.may("owner") ? scopes : memberScopes(scopes)}
        vendorNames={ctx.vendorNames}
        isOwner={request.may("owner")}
        values={values}
        fieldErrors={fieldErrors}
      />
    ),
  };
}

function ShownBefore({ prefix }: { prefix: string }) {
  return (
    <div class="panel">
      <p>
        The value of <code>{`${prefix}…`}</code>{" "}
        was shown once and is stored nowhere. If it is lost, rotate the key.
      </p>
      <LinkLine href="/dashboard/keys">Back to the keys</LinkLine>
    </div>
  );
}

function snippetsOf(ctx: PageContext, key: KeyRow, value: string) {
  return exampleSnippets(ctx.baseUrl, value, {
    call: exampleCall(key, ctx.exampleModels),
    question: exampleQuestion(
      key,
      (scope) => ctx.vendorNames.has(scope),
    ),
  });
}

/** Returns the lines for coding agents, if the key may call models of every vendor. */
function agentSnippets(ctx: PageContext, key: KeyRow, value: string): SnippetText[] {
  const call = exampleCall(key, ctx.exampleModels);
  if (call?.base !== unifiedBase) return [];
  const model = key.defaults?.defaultModel ?? call.model;
  return agentNames.map((agent) => ({
    title: agentTitles[agent],
    text: agentLines(agent, { baseUrl: ctx.baseUrl, key: value, model }).join("\n"),
  }));
}

interface SnippetText {
  title: string;
  text: string;
}

function ShownOnce({ value, snippets, agents }: {
  value: string;
  snippets: readonly SnippetText[];
  agents: readonly SnippetText[];
}) {
  return (
    <>
      <div class="panel panel-key">
        <h2>Copy the key now</h2>
        <p>It is shown only once and not stored.</p>
        <div class="secret">
          <code id="key-value">{value}</code>
          <CopyButton text={value} what="the key" />
        </div>
      </div>
      {snippets.map((each) => <Snippet {...each} />)}
      {snippets.length > 0 ? null : (
        <p>
          The <a href="/reference">reference</a> lists what it can call.
        </p>
      )}
      {agents.length === 0 ? null : (
        <details>
          <summary>For a coding agent</summary>
          {agents.map((each) => <Snippet {...each} />)}
        </details>
      )}
      <LinkLine href="/dashboard/keys">I have copied it</LinkLine>
    </>
  );
}
