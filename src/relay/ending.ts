import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { Fault } from "../shared/fault.ts";
import type { InteractionStatus } from "../shared/interaction.ts";
import type { Media } from "../shared/media.ts";

/** How a call ended. */
export interface Ending {
  status: InteractionStatus;
  /** The status that the caller received; null when it left before an answer began. */
  httpStatus: number | null;
  errorCode?: ErrorCode;
  /** The error that the caller got, or would have got. */
  fault?: Fault;
  /** The answer's JSON text as the caller received it; absent: it is made by folding the stream. */
  responseText?: string;
  /** Media that `responseText` references by hash. */
  responseMedia?: readonly Media[] | undefined;
  /** `responseText` is not the whole answer. */
  isTruncated?: boolean;
}
