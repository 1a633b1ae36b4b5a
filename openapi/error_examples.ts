import type { Contract, ErrorDialect } from "../contracts/kernel/contract.ts";
import { errorBody } from "../contracts/kernel/error_bodies.ts";
import { type ErrorCode, errors } from "../contracts/kernel/errors.ts";
import type { Example } from "./shapes.ts";

/** Returns examples of all errors that the contracts name, in each dialect that can return them. */
export function errorExamples(contracts: readonly Contract[]): Record<string, Example> {
  const found: Record<string, Example> = {};
  const add = (code: ErrorCode, dialect: ErrorDialect) => {
    const { message } = errors[code];
    found[errorExampleName(code, dialect)] ??= {
      summary: message,
      value: errorBody({ code, message, param: undefined, requestId }, dialect),
    };
  };
  for (const { codes, dialect } of contracts) for (const code of codes) add(code, dialect);
  add("headers_too_large", "service");
  return found;
}

/** Returns an example's name. Chat and responses share theirs, since their errors are the same. */
export function errorExampleName(code: ErrorCode, dialect: ErrorDialect): string {
  return `${dialect === "responses" ? "chat" : dialect}.${code}`;
}

const requestId = "order-1042";
