import type { Hono } from "hono";
import { parseUsd } from "../../../base/money.ts";
import {
  BudgetError,
  budgetLimits,
  budgetScopeText,
  limitAt,
  readBudgetScope,
  readBudgetSpan,
  type StoredBudget,
} from "../../../budgets/budget.ts";
import { usd } from "../../amounts.ts";
import {
  action,
  NotFound,
  orNotFound,
  type Outcome,
  type Page,
  page,
  type PageContext,
  type PageRequest,
} from "../../bind.tsx";
import { actionsColumn, Empty, LinkLine, PostForm, Table } from "../../components.tsx";
import type { FieldErrors } from "../../faults.ts";
import {
  FormButtons,
  FormError,
  type Option,
  SelectField,
  type Shown,
  TextField,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { settingsTabs } from "./settings_tabs.tsx";

const address = "/dashboard/settings/budgets";

/** What the account, its apps and its end users may spend: list, set, remove. */
export function budgetRoutes(app: Hono, ctx: PageContext): void {
  app.get(address, page(ctx, "viewer", (request) => listPage(ctx, request)));
  app.get(
    `${address}/new`,
    page(ctx, "owner", (request) => formPage(request, { values: {}, fieldErrors: {} })),
  );
  app.post(`${address}/new`, action(ctx, "owner", (form, request) => set(ctx, form, request)));
  app.get(
    `${address}/remove`,
    page(ctx, "owner", async (request) => {
      const id = request.query("id");
      const all = await ctx.budgets.list(request.session.account.id);
      const budget = orNotFound(all.find((one) => one.id === id));
      return {
        title: "Remove budget",
        section: "settings",
        body: <RemoveForm budget={budget} csrf={request.csrf} />,
      };
    }),
  );
  app.post(
    `${address}/remove`,
    action(ctx, "owner", async (form, request) => {
      const { actor } = request.note("budget.removed", "");
      const { id: accountId } = request.session.account;
      if (!await ctx.budgets.remove(form.text("id"), actor, accountId)) throw new NotFound();
      return { to: address, notice: { kind: "done", text: "The budget is removed." } };
    }),
  );
}

async function set(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  try {
    const kind = form.text("kind");
    const scope = readBudgetScope(
      kind === "account" ? kind : `${kind}:${form.text("name").trim()}`,
    );
    const limitNanos = amountOf(form.text("usd"));
    await ctx.budgets.set({
      ...{ accountId: request.session.account.id, scope, limitNanos, raised: null },
      per: readBudgetSpan(form.text("per")),
    }, request.note("budget.set", "").actor);
    const text = `Calls of ${budgetScopeText(scope)} are refused beyond ${usd(limitNanos)}.`;
    return { to: address, notice: { kind: "done", text } };
  } catch (thrown) {
    if (!(thrown instanceof BudgetError)) throw thrown;
    const shown = { values: form.values(), fieldErrors: fieldErrorsOf(thrown) };
    return { ...formPage(request, shown), status: 400 };
  }
}

function amountOf(text: string): bigint {
  try {
    return parseUsd(text.trim(), 9);
  } catch {
    throw new BudgetError("usd", "expected an amount in US dollars such as 2.50");
  }
}

function fieldErrorsOf({ field, reason }: BudgetError): FieldErrors {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return field === "on" ? { name: "Enter the app's or the end user's name." } : { [field]: text };
}

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const budgets = await ctx.budgets.list(request.session.account.id);
  return {
    title: "Settings",
    section: "settings",
    tabs: settingsTabs("budgets"),
    body: (
      <>
        <h2>Budgets</h2>
        <p class="lead">
          What the account, one of its apps or one of its end users may be charged in a day or a
          month of UTC. A call that could cost more than is left is refused before it is made.
        </p>
        {request.may("owner")
          ? <LinkLine href={`${address}/new`} primary>Set a budget</LinkLine>
          : null}
        {budgets.length === 0
          ? (
            <Empty title="No budgets yet">
              <p>Calls are limited by credit and by the caps of their keys.</p>
            </Empty>
          )
          : <BudgetTable budgets={budgets} request={request} />}
      </>
    ),
  };
}

function BudgetTable(
  { budgets, request }: { budgets: readonly StoredBudget[]; request: PageRequest },
) {
  const mayChange = request.may("owner");
  return (
    <Table
      label="Budgets"
      csv={`${address}/csv`}
      head={["On", "Per", "Spent", "Limit", ...mayChange ? [actionsColumn()] : []]}
    >
      {budgets.map((budget) => (
        <tr>
          <td>
            <code>{budgetScopeText(budget.scope)}</code>
          </td>
          <td>{budget.per}</td>
          <td>{usd(budget.spentNanos)}</td>
          <td>
            {usd(limitAt(budget, request.now))}
            {budget.raised && request.now < budget.raised.until
              ? <span class="muted">{` until ${budget.raised.until.toISOString()}`}</span>
              : null}
          </td>
          {mayChange
            ? (
              <td class="actions">
                <a
                  class="button button-small button-danger"
                  href={`${address}/remove?id=${encodeURIComponent(budget.id)}`}
                >
                  Remove<span class="visually-hidden">{` ${budgetScopeText(budget.scope)}`}</span>
                </a>
              </td>
            )
            : null}
        </tr>
      ))}
    </Table>
  );
}

const kinds: readonly Option[] = [
  ["account", "All calls of the account"],
  ["app", "Calls of an app"],
  ["user", "Calls of an end user"],
];
const spans: readonly Option[] = [["day", "Day (UTC)"], ["month", "Month (UTC)"]];

function formPage(request: PageRequest, shown: Shown): Page {
  return {
    title: "Set a budget",
    section: "settings",
    body: (
      <PostForm action={`${address}/new`} csrf={request.csrf} class="form">
        <FormError fieldErrors={shown.fieldErrors} />
        <SelectField {...shown} id="kind" label="On" options={kinds} />
        <TextField
          {...shown}
          id="name"
          label="App or end user"
          hint="The app's name or the end user's id, as calls carry it; empty for the account."
          maxlength={budgetLimits.nameLength}
        />
        <SelectField
          {...shown}
          id="per"
          label="Per"
          hint="A budget on the same for the same period is replaced."
          options={spans}
        />
        <TextField
          {...shown}
          id="usd"
          label="Limit in US dollars"
          inputmode="decimal"
          placeholder="20"
          required
        />
        <FormButtons back={address}>Set</FormButtons>
      </PostForm>
    ),
  };
}

function RemoveForm({ budget, csrf }: { budget: StoredBudget; csrf: string }) {
  return (
    <PostForm action={`${address}/remove`} csrf={csrf} class="panel">
      <input type="hidden" name="id" value={budget.id} />
      <p>
        Calls of <code>{budgetScopeText(budget.scope)}</code> are no longer limited to{" "}
        {usd(budget.limitNanos)} per {budget.per}.
      </p>
      <FormButtons back={address} tone="danger">Remove</FormButtons>
    </PostForm>
  );
}
