import type { Child } from "hono/jsx";
import type { Role } from "../people/person.ts";
import type { Outcome, PageRequest, Routes } from "./bind.tsx";
import { PostForm } from "./components.tsx";
import { FormButtons } from "./fields.tsx";
import type { Form } from "./form.ts";
import type { Section } from "./navigation.tsx";

/** An action that can't be undone: a page asks for confirmation, and its form does it. */
export interface Confirmation<T> {
  /** Path of the page and its form; the path or its query identifies the object. */
  path: string;
  role: Role;
  section: Section;
  title: string | ((found: T) => string);
  /** Finds the object of the action. Throws `NotFound`. */
  find(request: PageRequest): Promise<T>;
  /** Tells the person what the action will do; a redirect if it can't be done any more. */
  consequence(found: T, request: PageRequest): Child | Response;
  /** The text of the form's button; the title if absent. */
  button?: string;
  back: string | ((found: T) => string);
  cancel?: string;
  act(found: T, request: PageRequest, form: Form): Promise<Outcome>;
}

export function confirmationRoutes<T>(app: Routes, asked: Confirmation<T>): void {
  const { path, role, section, cancel } = asked;
  app.get(path, role, async (request) => {
    const found = await asked.find(request);
    const consequence = asked.consequence(found, request);
    if (consequence instanceof Response) return consequence;
    const title = typeof asked.title === "string" ? asked.title : asked.title(found);
    const back = typeof asked.back === "string" ? asked.back : asked.back(found);
    return {
      title,
      section,
      body: (
        <PostForm action={request.address} csrf={request.csrf} class="panel">
          {consequence}
          <FormButtons back={back} cancel={cancel ?? "Cancel"} tone="danger">
            {asked.button ?? title}
          </FormButtons>
        </PostForm>
      ),
    };
  });
  app.post(path, role, async (form, request) => {
    return await asked.act(await asked.find(request), request, form);
  });
}
