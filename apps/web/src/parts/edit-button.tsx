import { Button } from "@mantine/core";
import { type ComponentProps, useState } from "react";
import { Dialog } from "./dialog.tsx";
import { SchemaForm } from "./form.tsx";

interface EditProps<Result> extends ComponentProps<typeof SchemaForm<Result>> {
  readonly title: string;
  readonly children: string;
  /** Of a row, for screen readers. */
  readonly "aria-label": string;
}

/** A button in a row that opens the form of what the row shows. */
export function EditButton<Result>({ title, children, "aria-label": label, after, ...form }: EditProps<Result>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)} aria-label={label}>
        {children}
      </Button>
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
