/** Whether somebody listens, asked before anything is told, and outside of any transaction: it may take its time. */
import { AppError, attributeFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { type Verification, verificationEvent } from "../../shared/outbox/delivery.ts";
import { refusalOf } from "../../shared/outbox/webhook.ts";
import { type Destination, tell } from "./courier.ts";

/** Raises `bad-request` with what was answered, or with why nothing was. */
export async function verify(context: Context, destination: Destination): Promise<Verification> {
  const told = { about: "verification", trigger: verificationEvent } as const;
  const id = newId("deliveries");
  const response = await tell(context, destination, told, id);
  if (response.successful === "true") return { id, response };
  const detail = refusalOf(response);
  throw new AppError("bad-request", [
    destination.destinationType === "email" ? { detail } : attributeFault("url", detail),
  ]);
}
