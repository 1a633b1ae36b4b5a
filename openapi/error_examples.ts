import type { Contract, ErrorDialect } from "../contracts/kernel/contract.ts";
import { errorBody } from "../contracts/kernel/error_bodies.ts";
import { type ErrorCode, errors } from "../contracts/kernel/errors.ts";
import type { Example } from "./shapes.ts";

/** Every error that the contracts name, in the words of each dialect that can say it. */
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

/** Chat and responses say errors alike. */
export function errorExampleName(code: ErrorCode, dialect: ErrorDialect): string {
  return `${dialect === "responses" ? "chat" : dialect}.${code}`;
}

const requestId = "order-1042";
