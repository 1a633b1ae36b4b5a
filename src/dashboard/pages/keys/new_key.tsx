import type { Hono } from "hono";
import { mintKey } from "../../../keys/credential.ts";
import { accountScopes, memberScopes } from "../../../keys/scopes.ts";
import { action, orNotFound, page, type PageContext, type PageRequest } from "../../bind.tsx";
import { CopyButton, LinkLine, Snippet } from "../../components.tsx";
import { emptyForm, NewKeyForm } from "./new_key_form.tsx";
import { readNewKey } from "./read_new_key.ts";

/** Making a key, and seeing its value the one time. */
export function newKeyRoutes(app: Hono, ctx: PageContext): void {
  app.get(
    "/dashboard/keys/new",
    page(
      ctx,
      "member",
      async (request) => formPage(request, await scopesFor(ctx, request), emptyForm, {}),
    ),
  );
  app.post(
    "/dashboard/keys/new",
    action(ctx, "member", async (form, request) => {
      const scopes = await scopesFor(ctx, request);
      const { wanted, fieldErrors } = readNewKey(
        form,
        scopes,
        request.now,
        request.may("owner"),
        (name) => ctx.isModel(request.session.account.id, name),
      );
      if (!wanted) {
        return { ...formPage(request, scopes, form.values(), fieldErrors), status: 400 };
      }
      const created = mintKey(ctx.clock);
      const { environment, ...key } = wanted;
      await ctx.keys.create({
        ...key,
        accountId: request.session.account.id,
        id: created.id,
        prefix: created.prefix,
        hash: created.hash,
      }, {
        environment,
        madeBy: request.session.person.id,
        audit: request.note("api_key.created", key.name, `${created.prefix}…`),
      });
      return {
        to: `/dashboard/keys/${created.id}/created`,
        notice: { kind: "key", id: created.id, value: created.value.reveal() },
      };
    }),
  );
  app.get(
    "/dashboard/keys/:id/created",
    page(ctx, "member", async (request) => {
      const key = orNotFound(await ctx.keys.find(request.session.account.id, request.param("id")));
      const { notice } = request;
      const value = notice?.kind === "key" && notice.id === key.id ? notice.value : undefined;
      return {
        title: key.name,
        section: "keys",
        body: value === undefined
          ? <ShownBefore prefix={key.prefix} />
          : <ShownOnce value={value} baseUrl={ctx.baseUrl} model={ctx.exampleModel()} />,
      };
    }),
  );
}

/** What the account's keys may have. */
async function scopesFor(ctx: PageContext, request: PageRequest): Promise<string[]> {
  const { id } = request.session.account;
  return accountScopes(ctx.scopes, id === await ctx.operatorAccountId());
}

function formPage(
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

function ShownOnce(
  { value, baseUrl, model }: { value: string; baseUrl: string; model: string | undefined },
) {
  return (
    <>
      <div class="panel panel-key">
        <h2>Copy the key now</h2>
        <p>It is shown this once and stored nowhere.</p>
        <div class="secret">
          <code id="key-value">{value}</code>
          <CopyButton text={value} what="the key" />
        </div>
      </div>
      <Snippet title="curl" text={curlCall(baseUrl, value, model)} />
      {model === undefined
        ? null
        : <Snippet title="TypeScript" text={sdkCall(baseUrl, value, model)} />}
      <LinkLine href="/dashboard/keys">I have copied it</LinkLine>
    </>
  );
}

function curlCall(baseUrl: string, key: string, model: string | undefined): string {
  if (model === undefined) {
    return `curl ${baseUrl}/api/v1/status \\\n  -H 'Authorization: Bearer ${key}'`;
  }
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }] });
  return [
    `curl ${baseUrl}/chat/v1/chat/completions`,
    `  -H 'Authorization: Bearer ${key}'`,
    "  -H 'Content-Type: application/json'",
    `  -d '${body}'`,
  ].join(" \\\n");
}

function sdkCall(baseUrl: string, key: string, model: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${baseUrl}/chat/v1",
  apiKey: "${key}",
});
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Say hello." }],
});
console.log(answer.choices[0].message.content);`;
}
