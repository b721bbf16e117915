/** Sends changes, shows their result, and refetches everything on the page. */
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useRouter, type AnyRouter } from "@tanstack/react-router";
import { call, type OperationResponse, type OperationInput, type ApiOperation } from "./client.ts";
import { addNotice, isUnreachable } from "./connection.ts";
import type { ApiError } from "./errors.ts";

export interface ActionOptions<O extends ApiOperation> {
  readonly done: string | ((response: OperationResponse<O>, input: OperationInput<O>) => string);
  readonly after?: (response: OperationResponse<O>, input: OperationInput<O>) => void | Promise<void>;
  readonly refusal?: "message" | "form";
}

export type ApiAction<O extends ApiOperation> = UseMutationResult<OperationResponse<O>, ApiError, OperationInput<O>>;

export function useAction<O extends ApiOperation>(
  operation: O,
  { done, after, refusal = "message" }: ActionOptions<O>,
): ApiAction<O> {
  const client = useQueryClient();
  const router = useRouter();
  return useMutation<OperationResponse<O>, ApiError, OperationInput<O>>({
    mutationFn: (input) => call(operation, input),
    onSuccess: async (response, input) => {
      showMessage(typeof done === "string" ? done : done(response, input));
      for (const warning of warningsIn(response)) showWarning(warning);
      await after?.(response, input);
      await navigated(router);
      await client.invalidateQueries();
    },
    onError: (error) => {
      if (refusal === "message") showError(error);
    },
  });
}

const arrivesMs = 3_000;

/** The new page comes first: the old page's resource may no longer exist, and must not be refetched. */
const navigated = (router: AnyRouter): Promise<void> | undefined =>
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

const messageMs = 6_000;

export const showMessage = (message: string): void =>
  void notifications.show({ message, color: "teal", withBorder: true, autoClose: messageMs });

const lostMessage = {};

interface RuleWarning {
  readonly rule: string;
  readonly name: string;
  readonly message: string;
}

/** Of access rules that advise against what was done. */
function warningsIn(response: object): readonly RuleWarning[] {
  const { meta } = response as { readonly meta?: { readonly warnings?: readonly RuleWarning[] } };
  return meta?.warnings ?? [];
}

const showWarning = ({ rule, name, message }: RuleWarning): void =>
  void notifications.show({
    id: rule,
    title: `Access rule ${name}`,
    message,
    color: "yellow",
    withBorder: true,
    autoClose: 15_000,
  });

export function showError(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const removeNotice = isUnreachable(error) ? addNotice(lostMessage) : undefined;
  // Keyed by its text, so that it is shown only once.
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
