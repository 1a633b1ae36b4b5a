import type { Child } from "hono/jsx";
import { webhookEvents } from "../../../../contracts/admin/webhooks.ts";
import { nanosToUsd, readStatedUsd } from "../../../base/money.ts";
import { OptionError } from "../../../shared/fault.ts";
import { type Webhook, webhookLimits } from "../../../webhooks/webhook.ts";
import { readWebhookEvents } from "../../../webhooks/webhook_service.ts";
import {
  idOf,
  NotFound,
  orNotFound,
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  CopyButton,
  numberColumn,
  PostForm,
  RowLink,
  Table,
  Time,
} from "../../components.tsx";
import { count, usd } from "../../amounts.ts";
import { confirmationRoutes } from "../../confirmation.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { readAll, submitOrExplain } from "../../faults.ts";
import {
  blankForm,
  FormButtons,
  FormError,
  listOf,
  type Shown,
  TextArea,
  TextField,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { settingsList } from "./settings_page.tsx";

const address = "/dashboard/settings/webhooks";

/** Pages that list, add, test and remove webhooks. Owners only: addresses may contain secrets. */
export function webhookRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "owner", (request) => listPage(ctx, request));
  app.get(
    `${address}/csv`,
    "owner",
    async ({ accountId }) => csvFile("webhooks", columns, await ctx.webhooks.list(accountId)),
  );
  app.get(`${address}/new`, "owner", (request) => formPage(request, blankForm));
  app.post(`${address}/new`, "owner", (form, request) => add(ctx, form, request));
  confirmationRoutes(app, {
    ...{ path: `${address}/remove`, back: address, role: "owner", section: "settings" },
    ...{ title: "Remove webhook", button: "Remove" },
    find: async ({ query, accountId }) =>
      orNotFound(await ctx.webhooks.find(idOf(query("id")), accountId)),
    consequence: ({ url }) => (
      <p>
        Nothing more is sent to <code>{url}</code>; what waits for it is dropped.
      </p>
    ),
    async act({ id }, request) {
      const { actor } = request.note("webhook.removed", "");
      await ctx.webhooks.remove(id, actor, request.accountId);
      return { to: address, notice: { kind: "done", text: "The webhook is removed." } };
    },
  });
  app.post(`${address}/test`, "owner", async (_form, request) => {
    if (!await ctx.webhooks.test(idOf(request.query("id")), request.accountId)) {
      throw new NotFound();
    }
    const text = "webhook.test is sent. Load this page again to see whether it arrived.";
    return { to: address, notice: { kind: "done", text } };
  });
}

async function add(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { accountId } = request;
  const { done, fieldErrors } = await submitOrExplain(() => {
    const [url, events, creditLowNanos] = readAll(
      () => ctx.webhooks.readUrl(form.text("url")),
      () => readWebhookEvents(listOf(form.text("events"))),
      () => amountOf(form.text("credit_low_usd")),
    );
    const { actor } = request.note("webhook.added", "");
    return ctx.webhooks.add({ accountId, url, events, creditLowNanos }, actor);
  }, (field) => field);
  if (fieldErrors) {
    return { ...formPage(request, { values: form.values(), fieldErrors }), status: 400 };
  }
  // Shown by the list: a reload of the answer to the form would add another webhook.
  const { webhook: { id }, secret } = done;
  return { to: address, notice: { kind: "webhook", id, secret: secret.reveal() } };
}

function NewSecret({ hooks, request: { notice } }: HookTableProps) {
  if (notice?.kind !== "webhook") return null;
  const url = hooks.find(({ id }) => id === notice.id)?.url;
  return (
    <div class="panel panel-key" role="status">
      <h2>Copy the secret of the new webhook</h2>
      <p>
        It signs requests to <code>{url}</code>, and is shown only once.
      </p>
      <div class="secret">
        <code>{notice.secret}</code>
        <CopyButton text={notice.secret} what="the secret" />
      </div>
    </div>
  );
}

function amountOf(text: string): bigint | null {
  if (text === "") return null;
  return readStatedUsd(text, (expected) => new OptionError("credit_low_usd", expected));
}

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const hooks = await ctx.webhooks.list(request.accountId);
  return settingsList("webhooks", request, {
    lead:
      "URLs that receive events: budgets filling up, credit running low, finished exports and deletions. Each request is signed, and retried for a day.",
    add: { href: `${address}/new`, text: "Add a webhook" },
    empty: { title: "No webhooks yet", text: "No events are sent." },
    table: hooks.length === 0 ? null : (
      <>
        <NewSecret hooks={hooks} request={request} />
        <HookTable hooks={hooks} request={request} />
      </>
    ),
  });
}

const columns: CsvColumns<Webhook> = {
  webhook_id: ({ id }) => id,
  url: ({ url }) => url,
  events: ({ events }) => events.length === 0 ? "all" : events.join(" "),
  credit_low_usd: ({ creditLowNanos }) =>
    creditLowNanos === null ? null : nanosToUsd(creditLowNanos),
  waiting: ({ waiting }) => waiting,
  lost: ({ lost }) => lost,
  last_failed_at: ({ lastFailedAt }) => lastFailedAt,
  last_error: ({ lastError }) => lastError,
  last_sent_at: ({ lastSentAt }) => lastSentAt,
};

interface HookTableProps {
  hooks: readonly Webhook[];
  request: PageRequest;
}

function HookTable({ hooks, request }: HookTableProps) {
  const { csrf, now } = request;
  return (
    <Table
      label="Webhooks"
      cards
      csv={`${address}/csv`}
      head={[
        "URL",
        "Events",
        numberColumn("Waiting"),
        numberColumn("Lost"),
        "Last sent",
        "Last failure",
        actionsColumn(),
      ]}
    >
      {hooks.map((hook) => (
        <tr>
          <td class="name">
            <code>{hook.url}</code>
          </td>
          <td data-label="Events">
            {hook.events.length === 0 ? "All" : hook.events.map((one) => <div>{one}</div>)}
            <LowCredit hook={hook} />
          </td>
          <td class="number" data-label="Waiting">{count(hook.waiting)}</td>
          <td class="number" data-label="Lost">{count(hook.lost)}</td>
          <LastTime label="Last sent" at={hook.lastSentAt} now={now} />
          <LastTime label="Last failure" at={hook.lastFailedAt} now={now}>
            <div>{hook.lastError}</div>
          </LastTime>
          <td class="actions">
            <PostForm action={`${address}/test?id=${encodeURIComponent(hook.id)}`} csrf={csrf}>
              <button type="submit" class="button button-small">
                Test<span class="visually-hidden">{` ${hook.url}`}</span>
              </button>
            </PostForm>{" "}
            <RowLink
              href={`${address}/remove?id=${encodeURIComponent(hook.id)}`}
              text="Remove"
              of={hook.url}
              danger
            />
          </td>
        </tr>
      ))}
    </Table>
  );
}

export function LowCredit({ hook: { events, creditLowNanos } }: { hook: Webhook }) {
  if (events.length > 0 && !events.includes("credit.low")) return null;
  const threshold = creditLowNanos === null ? "a tenth of the last grant" : usd(creditLowNanos);
  return <div class="muted">{`Low credit: below ${threshold}`}</div>;
}

/** Without both times nobody sees whether a failure is over. */
function LastTime({ label, at, now, children }: {
  label: string;
  at: Date | null;
  now: Date;
  children?: Child;
}) {
  return (
    <td data-label={label}>
      {at === null ? <span class="muted">Never</span> : (
        <div>
          <Time at={at} now={now} />
          {children}
        </div>
      )}
    </td>
  );
}

function formPage(request: PageRequest, shown: Shown): Page {
  return {
    title: "Add a webhook",
    section: "settings",
    body: (
      <PostForm action={`${address}/new`} csrf={request.csrf} class="form">
        <FormError fieldErrors={shown.fieldErrors} />
        <TextField
          {...shown}
          id="url"
          label="Address"
          hint="A public https URL on port 443."
          placeholder="https://hooks.example.com/gateway"
          maxlength={webhookLimits.urlLength}
          required
        />
        <TextArea
          {...shown}
          id="events"
          label="Events"
          hint={`One per line. Empty: all, which are ${webhookEvents.join(", ")}.`}
          placeholder="budget.reached"
        />
        <TextField
          {...shown}
          id="credit_low_usd"
          label="Low-credit threshold (US dollars)"
          hint="Empty: a tenth of the last grant."
          inputmode="decimal"
        />
        <FormButtons back={address}>Add</FormButtons>
      </PostForm>
    ),
  };
}
