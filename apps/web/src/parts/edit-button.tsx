import { useState } from "react";
import type { z } from "zod";
import { AllowedButton } from "./allowed.tsx";
import { Dialog } from "./dialog.tsx";
import { type FormProps, SchemaForm } from "./form.tsx";

interface EditProps<Schema extends z.ZodObject, Result> extends FormProps<Schema, Result> {
  readonly title: string;
  readonly children: string;
  /** Of a row, for screen readers. */
  readonly "aria-label": string;
}

/** A button in a row that opens the form of what the row shows. */
export function EditButton<Schema extends z.ZodObject, Result>({
  title,
  children,
  "aria-label": label,
  after,
  ...form
}: EditProps<Schema, Result>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <AllowedButton
        size="compact-xs"
        variant="default"
        needs={form.needs}
        onClick={() => setOpen(true)}
        aria-label={label}
      >
        {children}
      </AllowedButton>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title={title} size="lg">
        <SchemaForm
          {...form}
          after={(result) => {
            setOpen(false);
            return after?.(result);
          }}
        />
      </Dialog>
    </>
  );
}
