import type { Context, Handler, Hono } from "hono";
import { errors } from "../../contracts/kernel/errors.ts";
import { type AuditNote, personAsActor } from "../audit/audit.ts";
import type { FailureLimit } from "../rate_limits/failure_limit.ts";
import { Fault } from "../shared/fault.ts";
import { unstorableText } from "../shared/storable_text.ts";
import type { Child } from "hono/jsx";
import { mayAs, type Role } from "../people/person.ts";
import type { Session } from "../people/session.ts";
import type { Assets } from "./assets.ts";
import type { Cookies } from "./cookies.ts";
import { type Form, isTooLarge, readForm, usualFormBytes } from "./form.ts";
import { Card, type Frame, SignedIn } from "./layout.tsx";
import { type Notice, noticeSeconds, parseNotice } from "./notice.ts";
import type { DashboardDeps } from "./deps.ts";
import { LinkLine } from "./components.tsx";
import { showDirectionControls } from "./direction.ts";
import { returnPath } from "./return_path.ts";
import { entries, roleFor } from "./navigation.tsx";
import { hashToken } from "../people/link_token.ts";
import { sameText } from "../base/hash.ts";
import { accountCsrfOf, openFor, sealFor } from "./secrets.ts";
import { isFromElsewhere } from "./visitor.ts";

/** Dependencies that all handlers and their helpers share. */
export interface PageContext extends DashboardDeps {
  assets: Assets;
  cookies: Cookies;
  /** Limits per IP address how many sign-ins it starts and how many links it guesses. */
  signInLimit: FailureLimit;
}

/** A request for a page, or with a form, by a person who is signed in. */
export interface PageRequest {
  session: Session;
  /** The account that is shown. */
  accountId: number;
  csrf: string;
  /** The message of the previous action; shown once. */
  notice: Notice | undefined;
  now: Date;
  /** Aborted when the browser leaves. */
  signal: AbortSignal;
  /** A segment of the path. */
  param(name: string): string;
  query(name: string): string | undefined;
  /** Path and query. */
  address: string;
  /** The query's parameters. */
  fields: URLSearchParams;
  header(name: string): string | undefined;
  /** Ends this session and clears its cookie. */
  end(): Promise<void>;
  switchAccount(id: number): Promise<boolean>;
  /** Whether the person may see what callers sent and received. */
  seesPayloads: boolean;
  /** Whether the person's role is at least `role`. */
  may(role: Role): boolean;
  /** Makes an audit note of what the person does, to be written in the act's own transaction. */
  note(action: string, subject: string, detail?: string): AuditNote;
  /** Writes an audit note on its own, for an act that writes nothing to the database. */
  record(action: string, subject: string, detail?: string): Promise<void>;
}

export interface Page extends Frame {
  body: Child;
  status?: Status;
}

/**
 * An action's result: a redirect to another page, maybe with a notice, a page such as its own form
 * again, or an answer for a script.
 */
export type Outcome = { to: string; notice?: Notice } | Page | Response;

/** Leads from a page that was asked for with GET to another one. */
export function redirect(location: string): Response {
  return new Response(null, { status: 303, headers: { location } });
}

export type Status = 200 | 400 | 403 | 404 | 413 | 429 | 500 | 502 | 503;

/** Thrown when the account has nothing by the id that was asked for; shows the page for 404. */
export class NotFound extends Error {}

export function orNotFound<T extends object>(found: T | null | undefined): T {
  if (!found) throw new NotFound();
  return found;
}

/**
 * Handles a GET for a page or a file by people with at least the role `needed`. With `ownLinksAt`
 * requests from other sites are redirected to that path: for what leaves a trace, such as a
 * download.
 */
function page(
  ctx: PageContext,
  needed: Role,
  load: (request: PageRequest) => Page | Response | Promise<Page | Response>,
  { ownLinksAt }: { ownLinksAt?: string } = {},
): Handler {
  return async (context) => {
    if (ownLinksAt !== undefined && isFromElsewhere(context)) {
      return context.redirect(ownLinksAt, 303);
    }
    const request = await requestOf(ctx, context);
    if (!request) return toSignIn(context, { return_to: pathOf(new URL(context.req.url)) });
    if (!mayAs(request.session.role, needed)) {
      return forbidden(ctx, context, request.session, needed);
    }
    if (!isFromElsewhere(context)) ctx.cookies.clear(context, "notice");
    return await show(ctx, context, request, () => load(request));
  };
}

/**
 * Handles a form of people with at least the role `needed`. One of our own pages must have sent it,
 * and have shown the same account as the session shows now. `ofSession`: the form concerns the
 * session, so its page may have shown any of the person's accounts.
 */
function action(
  ctx: PageContext,
  needed: Role,
  act: (form: Form, request: PageRequest) => Outcome | Promise<Outcome>,
  { maxFormBytes = usualFormBytes, ofSession = false }: {
    maxFormBytes?: number;
    ofSession?: boolean;
  } = {},
): Handler {
  return async (context) => {
    const token = ctx.cookies.read(context, "session");
    const request = await requestOf(ctx, context);
    if (!token || !request) {
      return toSignIn(context, ofSession ? {} : { return_to: formPage(context), unsent: "1" });
    }
    const form = await readForm(context, maxFormBytes);
    if (!form && isTooLarge(context, maxFormBytes)) {
      const text = "Nothing was changed. Send less at once.";
      return unsent(ctx, context, 413, "This form is too large", text, "Back to the form");
    }
    const { account, accounts } = request.session;
    const isOurs = form && !isFromElsewhere(context) &&
      (ofSession ? accounts : [account]).some(({ id }) =>
        sameText(form.text("csrf"), accountCsrfOf(token, id))
      );
    if (!isOurs) return expiredForm(ctx, context);
    if (!mayAs(request.session.role, needed)) {
      return forbidden(ctx, context, request.session, needed);
    }
    const unstorable = unstorableIn(form);
    if (unstorable) {
      const text = `Nothing was changed. ${unstorable.message}`;
      return unsent(ctx, context, 400, "This text can't be stored", text, "Back to the form");
    }
    return await show(ctx, context, request, async () => {
      const outcome = await act(form, request);
      if (outcome instanceof Response || "body" in outcome) return outcome;
      if (outcome.notice) {
        const sealed = sealFor(token, JSON.stringify(outcome.notice));
        ctx.cookies.write(context, "notice", sealed, noticeSeconds);
      }
      return context.redirect(outcome.to, 303);
    });
  };
}

function unstorableIn(form: Form): Fault | undefined {
  for (const [name, texts] of Object.entries(form.values())) {
    for (const text of texts) {
      const fault = unstorableText(text, [name]);
      if (fault) return fault;
    }
  }
  return undefined;
}

/** Mounts pages and actions; the arguments after the path are those of `page` and `action`. */
export interface Routes {
  get(path: string, ...shown: ArgumentsOf<typeof page>): void;
  post(path: string, ...done: ArgumentsOf<typeof action>): void;
  /**
   * Redirects a GET for a form's address that has no page to the page above it: a refused form is
   * shown at that address, where people reload and bookmark it. To be called after all others.
   */
  leadBack(): void;
}

type ArgumentsOf<F> = F extends (ctx: PageContext, ...rest: infer Rest) => Handler ? Rest : never;

export function createRoutes(app: Hono, ctx: PageContext): Routes {
  const pages = new Set<string>();
  const forms = new Set<string>();
  return {
    get: (path, ...shown) => {
      pages.add(path);
      app.get(path, page(ctx, ...shown));
    },
    post: (path, ...done) => {
      forms.add(path);
      app.post(path, action(ctx, ...done));
    },
    leadBack: () => {
      for (const path of forms) {
        if (pages.has(path)) continue;
        const segments = path.split("/");
        while (segments.length > 2 && !pages.has(segments.join("/"))) segments.pop();
        app.get(
          path,
          // As it was sent: decoded, it could have a line break, which no header can.
          ({ req, redirect }) =>
            redirect(new URL(req.url).pathname.split("/", segments.length).join("/"), 303),
        );
      }
    },
  };
}

/** Answers with a page that needs no session. `unsent`: the form is filled in again on its page. */
export function card(
  ctx: PageContext,
  context: Context,
  title: string,
  body: Child,
  { status = 200, unsent = false }: { status?: Status; unsent?: boolean } = {},
): Promise<Response> {
  return html(context, status, <Card {...{ title, unsent }} assets={ctx.assets}>{body}</Card>);
}

/** Answers with such a page that holds one text and one link. */
export function message(
  ctx: PageContext,
  context: Context,
  status: Status,
  title: string,
  text: string,
  link: { href: string; text: string; isPrimary?: boolean },
  unsent = false,
): Promise<Response> {
  const body = (
    <>
      <p>{text}</p>
      <LinkLine href={link.href} primary={link.isPrimary ?? false}>{link.text}</LinkLine>
    </>
  );
  return card(ctx, context, title, body, { status, unsent });
}

/**
 * Answers a request that may have been a form, which then changed nothing or may have, with a link
 * to its page.
 */
export function unsent(
  ctx: PageContext,
  context: Context,
  status: Status,
  title: string,
  text: string,
  linkText: string,
): Promise<Response> {
  const link = { href: askedPage(context), text: linkText };
  return message(ctx, context, status, title, text, link, context.req.method === "POST");
}

/** The same for what was removed and for what is another account's; leads to the section's list. */
export function notFoundPage(ctx: PageContext, context: Context): Promise<Response> {
  const text =
    "There is nothing at this address: it may have been removed, or it belongs to another account.";
  const entry = entries.find(({ section }) =>
    roleFor(section) === "viewer" && context.req.path.startsWith(`/dashboard/${section}/`)
  );
  const link = entry
    ? { href: `/dashboard/${entry.section}`, text: `Go to ${entry.title}` }
    : { href: "/dashboard", text: "Go to the dashboard" };
  return message(ctx, context, 404, "Page not found", text, { ...link, isPrimary: true });
}

const backToDashboard = { href: "/dashboard", text: "Back to the dashboard" };

async function requestOf(ctx: PageContext, context: Context): Promise<PageRequest | undefined> {
  const token = ctx.cookies.read(context, "session");
  if (!token) return undefined;
  const now = ctx.clock.now();
  const session = await ctx.sessions.find(hashToken(token), now);
  if (!session) return undefined;
  // A notice is shown once: a link from another site must not use it up.
  const sealed = isFromElsewhere(context) ? undefined : ctx.cookies.read(context, "notice");
  const { id: accountId } = session.account;
  const actor = personAsActor(session.person);
  const note: PageRequest["note"] = (act, subject, detail = "") => ({
    ...{ accountId, actor, action: act, subject, detail },
    at: now,
  });
  return {
    session,
    accountId,
    csrf: accountCsrfOf(token, accountId),
    notice: parseNotice(sealed === undefined ? undefined : openFor(token, sealed)),
    now,
    signal: context.req.raw.signal,
    param: (name) => idOf(context.req.param(name)),
    query: (name) => context.req.query(name),
    address: pathOf(new URL(context.req.url)),
    fields: new URL(context.req.url).searchParams,
    header: (name) => context.req.header(name),
    end: async () => {
      await ctx.sessions.end(hashToken(token));
      ctx.cookies.clear(context, "session");
    },
    switchAccount: (id) => ctx.sessions.switchAccount(hashToken(token), id),
    seesPayloads: session.seesPayloads,
    may: (role) => mayAs(session.role, role),
    note,
    record: async (...args) => await ctx.audit.record(note(...args)),
  };
}

async function show(
  ctx: PageContext,
  context: Context,
  request: PageRequest,
  load: () => Page | Response | Promise<Page | Response>,
): Promise<Response> {
  try {
    const loaded = await load();
    if (loaded instanceof Response) return loaded;
    const { body, status, ...frame } = loaded;
    const { session, now, csrf, notice } = request;
    return await html(
      context,
      status ?? 200,
      <SignedIn frame={frame} {...{ session, now, csrf, notice }} assets={ctx.assets}>
        {body}
      </SignedIn>,
    );
  } catch (thrown) {
    if (isMissing(thrown)) return await notFoundPage(ctx, context);
    throw thrown;
  }
}

/** Throws `NotFound` for a text that the database can't hold: it can't be the id of anything. */
export function idOf(text = ""): string {
  if (/\p{Cc}/u.test(text) || text.length > 300) throw new NotFound();
  return text;
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof NotFound ||
    thrown instanceof Fault && errors[thrown.code].status === 404;
}

function toSignIn(context: Context, fields: { return_to?: string; unsent?: "1" }): Response {
  const query = new URLSearchParams(fields);
  return context.redirect(`/dashboard/sign-in${query.size > 0 ? `?${query}` : ""}`, 303);
}

/** Returns the page that the browser asked for, or that held the form that it sent. */
function askedPage(context: Context): string {
  return context.req.method === "GET" ? pathOf(new URL(context.req.url)) : formPage(context);
}

/** Returns the page that held the form: the form's own address may have no page. */
function formPage(context: Context): string {
  const page = URL.parse(context.req.header("referer") ?? "");
  return returnPath(page ? pathOf(page) : undefined);
}

function pathOf({ pathname, search }: URL): string {
  return pathname + search;
}

function forbidden(
  ctx: PageContext,
  context: Context,
  { role, account }: Session,
  needed: Role,
): Promise<Response> {
  const text =
    `This takes the role ${needed}, and you are ${role} of ${account.name}. An owner can change your role under Settings.`;
  return message(ctx, context, 403, "Not allowed", text, backToDashboard);
}

/** Answers a form that is too old, or that none of our pages sent. */
export function expiredForm(ctx: PageContext, context: Context): Promise<Response> {
  const text =
    "Nothing was changed. The form was opened before you last signed in or switched accounts, or was sent from another page.";
  return unsent(ctx, context, 403, "This form has expired", text, "Open the page again");
}

async function html(context: Context, status: Status, node: Child): Promise<Response> {
  return context.html(`<!doctype html>\n${await htmlText(node)}`, status);
}

/** Renders nodes to HTML; all HTML is made here, so that direction controls are always shown. */
export async function htmlText(node: Child): Promise<string> {
  return showDirectionControls(String(await node));
}
