import type { Child } from "hono/jsx";
import { NotFound, orNotFound, type PageRequest, type Routes } from "../../bind.tsx";
import { PostForm } from "../../components.tsx";
import { FormButtons } from "../../fields.tsx";

/** How something that is listed in the settings is removed: a page that asks, and its form. */
export interface Removal<T> {
  /** The list's. */
  readonly address: string;
  /** As the page's title calls it. */
  readonly noun: string;
  /** The field of query and form by which one of the list is named. */
  readonly field: "id" | "name";
  find(value: string, request: PageRequest): Promise<T | undefined>;
  /** What follows from it. */
  consequence(found: T): Child;
  /** False where there is none. */
  remove(value: string, request: PageRequest): Promise<boolean>;
  /** What the list says afterwards. */
  done(value: string): string;
}

export function removalRoutes<T extends object>(
  app: Routes,
  { address, noun, field, ...removal }: Removal<T>,
): void {
  app.get(`${address}/remove`, "owner", async (request) => {
    const value = request.query(field) ?? "";
    const found = orNotFound(await removal.find(value, request));
    return {
      title: `Remove ${noun}`,
      section: "settings",
      body: (
        <PostForm action={`${address}/remove`} csrf={request.csrf} class="panel">
          <input type="hidden" name={field} value={value} />
          <p>{removal.consequence(found)}</p>
          <FormButtons back={address} tone="danger">Remove</FormButtons>
        </PostForm>
      ),
    };
  });
  app.post(`${address}/remove`, "owner", async (form, request) => {
    const value = form.text(field);
    if (!await removal.remove(value, request)) throw new NotFound();
    return { to: address, notice: { kind: "done", text: removal.done(value) } };
  });
}

/** In a row of the list; `name` is read out behind "Remove". */
export function RemoveLink({ href, name }: { href: string; name: string }) {
  return (
    <a class="button button-small button-danger" href={href}>
      Remove<span class="visually-hidden">{` ${name}`}</span>
    </a>
  );
}
