import { readStatedUsd } from "../../../base/money.ts";
import {
  budgetNameLengths,
  type BudgetScope,
  budgetScopeText,
  limitAt,
  readBudgetScope,
  readBudgetSpan,
  type StoredBudget,
} from "../../../budgets/budget.ts";
import { OptionError } from "../../../shared/fault.ts";
import { usd } from "../../amounts.ts";
import {
  idOf,
  orNotFound,
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  LinkLine,
  numberColumn,
  PostForm,
  RowLink,
  Table,
} from "../../components.tsx";
import { LimitBadge, shareSpent } from "../../caps.tsx";
import { confirmationRoutes } from "../../confirmation.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { readAll, submitOrExplain } from "../../faults.ts";
import {
  blankForm,
  FormButtons,
  FormError,
  type Option,
  SelectField,
  type Shown,
  TextField,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { exactTime, nameText } from "../../format.ts";
import { ListSearch, NoneFound, searched, searchOf } from "../../list_search.tsx";
import { settingsList } from "./settings_page.tsx";

const address = "/dashboard/settings/budgets";
const pageRows = 50;

/** Pages that list, set and remove budgets of the account, its apps and its end users. */
export function budgetRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(
    `${address}/csv`,
    "viewer",
    (request) =>
      csvFile(
        "budgets",
        columns(request.now),
        allPages((after, limit) =>
          ctx.budgets.list(request.accountId, { after, limit, search: searchOf(request) })
        ),
      ),
  );
  app.get(`${address}/new`, "owner", (request) => formPage(request, blankForm));
  app.post(`${address}/new`, "owner", (form, request) => set(ctx, form, request));
  confirmationRoutes(app, {
    ...{ path: `${address}/remove`, back: address, role: "owner", section: "settings" },
    ...{ title: "Remove budget", button: "Remove" },
    find: async ({ query, accountId }) =>
      orNotFound(await ctx.budgets.find(idOf(query("id")), accountId)),
    consequence: (budget) => (
      <p>
        Calls of <code>{nameText(budgetScopeText(budget.scope))}</code> are no longer limited to
        {" "}
        {usd(budget.limitNanos)} per {budget.per}.
      </p>
    ),
    async act({ id }, request) {
      const { actor } = request.note("budget.removed", "");
      await ctx.budgets.remove(id, actor, request.accountId);
      return { to: address, notice: { kind: "done", text: "The budget is removed." } };
    },
  });
}

async function set(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { done: text, fieldErrors } = await submitOrExplain(async () => {
    const [scope, limitNanos, per] = readAll(
      () => scopeOf(form),
      () => readStatedUsd(form.text("usd"), (expected) => new OptionError("usd", expected)),
      () => readBudgetSpan(form.text("per")),
    );
    await ctx.budgets.set({
      ...{ accountId: request.accountId, scope, per, limitNanos, raised: null },
    }, request.note("budget.set", "").actor);
    return `Calls of ${nameText(budgetScopeText(scope))} are refused beyond ${
      usd(limitNanos)
    } a ${per}.`;
  }, (field) => field === "on" ? "name" : field);
  if (fieldErrors) {
    return { ...formPage(request, { values: form.values(), fieldErrors }), status: 400 };
  }
  return { to: address, notice: { kind: "done", text } };
}

function scopeOf(form: Form): BudgetScope {
  const kind = form.text("kind");
  // Names of end users may differ only in blanks around them; names of apps are trimmed in tags.
  const { name = "" } = kind === "user" ? form.filledExactly("name") : form.filled("name");
  if (kind !== "account" && name === "") {
    throw new OptionError("name", "enter the app's or the end user's name");
  }
  // Whoever typed a name doesn't mean all calls: such a budget could stop every one of them.
  if (kind === "account" && name !== "") {
    const [, ofApp, ofUser] = kinds.map(([, label]) => `“${label}”`);
    throw new OptionError("name", `choose ${ofApp} or ${ofUser}, or leave this empty`);
  }
  return readBudgetScope(kind === "account" ? kind : `${kind}:${name}`);
}

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const last = request.query("after");
  const after = last === undefined
    ? undefined
    : await ctx.budgets.cursorOf(last, request.accountId);
  const search = searchOf(request);
  const found = await ctx.budgets.list(request.accountId, { after, limit: pageRows + 1, search });
  const budgets = found.slice(0, pageRows);
  const next = found.length > pageRows ? budgets.at(-1) : undefined;
  const isWhole = last === undefined && search === undefined && next === undefined;
  return settingsList("budgets", request, {
    lead:
      "The most that the account, an app or an end user may be charged per day or month (UTC). A call that could cost more than is left is refused.",
    add: request.may("owner") ? { href: `${address}/new`, text: "Set a budget" } : undefined,
    empty: {
      title: "No budgets yet",
      text: "Calls are limited by credit and by the caps of their keys.",
    },
    table: budgets.length === 0 && isWhole ? null : (
      <>
        {isWhole ? null : <ListSearch address={address} label="App or end user" search={search} />}
        {budgets.length === 0
          ? <NoneFound title="No budget found" address={address} all="All budgets" />
          : (
            <BudgetTable
              budgets={budgets}
              csv={searched(`${address}/csv`, search)}
              request={request}
            />
          )}
        {next && <LinkLine href={moreHref(next.id, search)}>More budgets</LinkLine>}
      </>
    ),
  });
}

function moreHref(after: string, search: string | undefined): string {
  return `${address}?${new URLSearchParams({
    after,
    ...search === undefined ? {} : { q: search },
  })}`;
}

function columns(now: Date): CsvColumns<StoredBudget> {
  return {
    budget_id: ({ id }) => id,
    on: ({ scope }) => budgetScopeText(scope),
    per: ({ per }) => per,
    spent_usd: ({ spentNanos }) => ({ nanos: spentNanos }),
    raised_until: ({ raised }) => raised?.until ?? null,
    limit_usd: (budget) => ({ nanos: limitAt(budget, now) }),
  };
}

function BudgetTable(
  { budgets, csv, request }: {
    budgets: readonly StoredBudget[];
    csv: string;
    request: PageRequest;
  },
) {
  const mayChange = request.may("owner");
  return (
    <Table
      label="Budgets"
      cards
      csv={csv}
      head={[
        "On",
        "Per",
        numberColumn("Spent"),
        numberColumn("Limit"),
        ...mayChange ? [actionsColumn()] : [],
      ]}
    >
      {budgets.map((budget) => (
        <tr>
          <td class="name">
            <code>{nameText(budgetScopeText(budget.scope))}</code>
          </td>
          <td data-label="Per">{budget.per}</td>
          <td class="number" data-label="Spent">
            <div>
              <LimitBadge share={shareSpent(budget.spentNanos, limitAt(budget, request.now))} />
              {" "}
              {usd(budget.spentNanos)}
            </div>
          </td>
          <td class="number" data-label="Limit">
            {usd(limitAt(budget, request.now))}
            {budget.raised && request.now < budget.raised.until
              ? <span class="muted">{` until ${exactTime(budget.raised.until)}`}</span>
              : null}
          </td>
          {mayChange
            ? (
              <td class="actions">
                <RowLink
                  href={`${address}/remove?id=${encodeURIComponent(budget.id)}`}
                  text="Remove"
                  of={nameText(budgetScopeText(budget.scope))}
                  danger
                />
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
          hint="The app's name or the end user's id, as in calls. Leave empty for the account."
          maxlength={budgetNameLengths.user}
        />
        <SelectField
          {...shown}
          id="per"
          label="Per"
          hint="Replaces an existing budget of the same scope and period; if its limit is raised for a time, that ends."
          options={spans}
        />
        <TextField
          {...shown}
          id="usd"
          label="Limit in US dollars"
          hint="What was charged earlier in the day or month counts, too. A later correction of prices recounts only calls made after the budget was set."
          inputmode="decimal"
          placeholder="20"
          required
        />
        <FormButtons back={address}>Set</FormButtons>
      </PostForm>
    ),
  };
}
