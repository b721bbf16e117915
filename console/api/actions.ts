/** Sends changes, shows what they did, and refetches everything on the page. */
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useRouter, type AnyRouter } from "@tanstack/react-router";
import { call, type Answer, type Input, type Operation } from "./client.ts";
import { addNotice, isNoAnswer } from "./connection.ts";
import type { ApiError } from "./errors.ts";

export interface ActionOptions<O extends Operation> {
  readonly done: string | ((answer: Answer<O>, input: Input<O>) => string);
  readonly after?: (answer: Answer<O>, input: Input<O>) => void | Promise<void>;
  /** Where errors are shown: by the form beside its fields, or as a message. */
  readonly refusal?: "message" | "form";
}

export type Action<O extends Operation> = UseMutationResult<Answer<O>, ApiError, Input<O>>;

export function useAction<O extends Operation>(
  operation: O,
  { done, after, refusal = "message" }: ActionOptions<O>,
): Action<O> {
  const client = useQueryClient();
  const router = useRouter();
  return useMutation<Answer<O>, ApiError, Input<O>>({
    mutationFn: (input) => call(operation, input),
    onSuccess: async (answer, input) => {
      tell(typeof done === "string" ? done : done(answer, input));
      await after?.(answer, input);
      await arrived(router);
      await client.invalidateQueries();
    },
    onError: (error) => {
      if (refusal === "message") tellRefusal(error);
    },
  });
}

const arrivesMs = 3_000;

/** If an action navigates, the new page comes first: the old page's resource may no longer exist and must not be refetched. */
const arrived = (router: AnyRouter): Promise<void> | undefined =>
  router.latestLocation.href === router.state.resolvedLocation?.href
    ? undefined
    : new Promise((resolve) => {
        const settle = () => {
          stop();
          clearTimeout(timer);
          resolve();
        };
        const stop = router.subscribe("onResolved", settle);
        const timer = setTimeout(settle, arrivesMs);
      });

const toldMs = 6_000;

export const tell = (message: string): void =>
  void notifications.show({ message, color: "teal", withBorder: true, autoClose: toldMs });

/** Identifies the one message that the server can't be reached. */
const lostMessage = {};

export function tellRefusal(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const removeNotice = isNoAnswer(error) ? addNotice(lostMessage) : undefined;
  // Keyed by its text, so that the same message is not shown twice at the same time.
  notifications.show({
    id: message,
    title: "Request failed",
    message,
    color: "red",
    withBorder: true,
    autoClose: 15_000,
    ...(removeNotice && { onClose: removeNotice }),
  });
}
