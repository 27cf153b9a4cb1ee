"""Sentences that a notebook shows as a list, and the words about smoke runs."""

from __future__ import annotations

from runners.present.kit.markup import Fragment, unbroken

SMOKE = "This is a smoke run (profile quick): it shows that everything works and is not evidence for any comparison."


class Narrative(tuple[str, ...]):
    """Sentences that a notebook shows as a list, and a program reads as strings."""

    __slots__ = ()

    @property
    def fragment(self) -> Fragment:
        """The sentences as a list, escaped."""
        items = "".join(f"<li>{unbroken(sentence)}</li>" for sentence in self)
        return Fragment(f'<ul class="wb-sentences">{items}</ul>', "\n".join(f"- {sentence}" for sentence in self))

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, str], dict[str, dict[str, bool]]]:
        return self.fragment._repr_mimebundle_(**kwargs)

    def _repr_html_(self) -> str:
        return self.fragment._repr_html_()
