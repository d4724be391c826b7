"""Every dataset and every method, by name.

A new dataset is a function in `datasets/` and a line in DATASETS; a new method is a class in
`methods/` and a line in METHODS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from halldetect.errors import ConfigurationError, InputError
from halldetect.large.verifier import LargeVerifier
from halldetect.protocols import Verifier
from halldetect.verification.peers import PEERS
from halldetect_bench.datasets import (
    absent_texts,
    edited_texts,
    labelled_claims,
    labelled_summaries,
    rag_answers,
)
from halldetect_bench.datasets.absent_texts import TOFUEVAL_PARTS
from halldetect_bench.datasets.edited_texts import HALUEVAL_TASKS, SUMMEDITS_DOMAINS
from halldetect_bench.datasets.labelled_rows import Loaded, join
from halldetect_bench.datasets.labelled_summaries import DEFACTO_SPLITS
from halldetect_bench.datasets.readers import Loader
from halldetect_bench.methods.embedding import EmbeddingDivergence, SelfCheck
from halldetect_bench.methods.method import Method
from halldetect_bench.methods.pairwise import (
    AlignScoreStyle,
    MiniCheckStyle,
    NliOnly,
    OnePrompt,
    PairwiseMethod,
    SummacConvStyle,
    SummacZsStyle,
)
from halldetect_bench.methods.peers.bespoke import BespokeMiniCheck
from halldetect_bench.methods.peers.lettucedetect import MODELS, LettuceDetect
from halldetect_bench.methods.peers.pair_judges import (
    AlignScore,
    FactCg,
    MiniCheck,
    MiniCheckT5,
    WholePair,
)
from halldetect_bench.methods.peers.summac import SummacConv, SummacZs
from halldetect_bench.methods.prompted import (
    AcuEval,
    FactScore,
    LlmCot,
    LongContext,
    PromptedMethod,
)
from halldetect_bench.methods.question_answering import QaFactEval
from halldetect_bench.methods.rouge import RougeL
from halldetect_bench.models.selection import RunModels

ROOT_VARIABLE = "HALLDETECT_DATA"
USER_FILE = "jsonl:"
SUMMAC = "summac-vitc"  # the verifier of both methods of SummaC


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset: its name, its folder under the data folder, and its loader."""

    name: str
    folder: str
    load: Callable[[Path], Loaded]


def _parts(
    name: str, load: Loader, parts: Iterable[str], whole: Iterable[str] = (), folder: str = ""
) -> Iterator[Dataset]:
    """Return the set of the parts in `whole`, if any, under the name, then a set for each part."""
    if whole:
        yield Dataset(name, folder or name, lambda path: join(load(path, part) for part in whole))
    for part in parts:
        yield Dataset(f"{name}-{part}", folder or name, partial(load, part=part))


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset("qags-cnndm", "qags", labelled_summaries.load_qags),
        Dataset("summeval", "summeval", labelled_summaries.load_summeval),
        Dataset("xsumfaith", "xsumfaith", labelled_summaries.load_xsumfaith),
        *_parts("summedits", edited_texts.load_summedits, SUMMEDITS_DOMAINS, SUMMEDITS_DOMAINS),
        Dataset("faithbench", "faithbench", labelled_summaries.load_faithbench),
        *_parts("defacto", labelled_summaries.load_defacto, DEFACTO_SPLITS, ("test",)),
        Dataset("storysumm", "storysumm", labelled_summaries.load_storysumm),
        Dataset("dialsummeval", "dialsummeval", labelled_summaries.load_dialsummeval),
        Dataset("wice", "wice", labelled_claims.load_wice),
        Dataset("pubmedqa", "pubmedqa", edited_texts.load_pubmedqa),
        Dataset("bump", "bump", edited_texts.load_bump),
        *_parts("bump", edited_texts.load_bump_task, edited_texts.BUMP_TASKS),
        Dataset("factcg", "factcg", labelled_claims.load_factcg),
        *_parts("llm-aggrefact", labelled_claims.load_llm_aggrefact, ("dev",), ("test",)),
        Dataset("clearfacts", "clearfacts", labelled_claims.load_clearfacts),
        *_parts(
            "tofueval", absent_texts.load_tofueval, TOFUEVAL_PARTS, TOFUEVAL_PARTS, "clearfacts"
        ),
        *_parts(
            "tofueval-summaries",
            absent_texts.load_tofueval_summaries,
            TOFUEVAL_PARTS,
            TOFUEVAL_PARTS,
            "tofueval",
        ),
        Dataset("falsesum", "falsesum", absent_texts.load_falsesum),
        *_parts("ragtruth", rag_answers.load_ragtruth, ("train",), ("test",)),
        *_parts(
            "ragtruth-selection",
            rag_answers.load_ragtruth_selection,
            rag_answers.RAGTRUTH_SELECTIONS,
            folder="ragtruth",
        ),
        *_parts("memerag", rag_answers.load_memerag, rag_answers.MEMERAG_LANGUAGES),
        *_parts("halueval", edited_texts.load_halueval, HALUEVAL_TASKS, HALUEVAL_TASKS),
    )
}


def load_dataset(name: str, root: Path | str | None = None) -> Loaded:
    """Return the rows of a dataset in the folder `root`; by default HALLDETECT_DATA.

    The name is one of DATASETS, or `jsonl:PATH` for your own file.
    """
    if name.startswith(USER_FILE):
        return labelled_claims.load_user_file(Path(name.removeprefix(USER_FILE)))
    dataset = DATASETS.get(name)
    if dataset is None:
        raise InputError(
            f"no dataset named {name!r}; there are {', '.join(DATASETS)} and {USER_FILE}PATH"
        )
    return dataset.load(data_root(root) / dataset.folder)


def data_root(root: Path | str | None = None) -> Path:
    """Return the folder that holds the datasets' folders; by default HALLDETECT_DATA."""
    chosen = root if root is not None else os.environ.get(ROOT_VARIABLE)
    if not chosen:
        raise InputError(f"say where the datasets are: pass --data DIR or set {ROOT_VARIABLE}")
    return Path(chosen)


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """A method: its name, a summary, the models it needs, and its factory."""

    name: str
    summary: str
    needs: str
    build: Callable[[RunModels], Method]


def _pairwise(method: type[PairwiseMethod], summary: str) -> MethodEntry:
    return MethodEntry(method.name, summary, "verifier", lambda run: method(run.verifier))


def _prompted(method: type[PromptedMethod], summary: str) -> MethodEntry:
    return MethodEntry(method.name, summary, "llm", lambda run: method(run.llm))


def _halldetect(run: RunModels) -> Method:
    from halldetect.detector import Detector
    from halldetect_bench.methods.halldetect_method import HallDetect

    return HallDetect(Detector(config=run.configuration, notice=run.options.notice))


def _paper(run: RunModels) -> Method:
    """Return the paper's method; an `--llm` or `--device` selects the model that writes claims."""
    from halldetect.detector import Detector
    from halldetect_bench.methods.halldetect_method import HallDetect, LlmExtractor

    given, options = run.configuration, run.options
    on_llm = options.device is not None or options.llm is not None
    detector = Detector.paper(
        LlmExtractor(run.llm, seed=given.seed) if on_llm else options.extractor,
        given.verifier,
        seed=given.seed,
        threads=given.threads,
        notice=options.notice,
    )
    return HallDetect(detector, "paper")


def _published(
    method: Callable[[Verifier, str], Method], summary: str, *names: str
) -> Iterator[MethodEntry]:
    """Return an entry for each set of published weights, by the name of its verifier."""
    for name in names:
        build = partial(_with_weights, method, name)
        yield MethodEntry(name, f"{summary} ({PEERS[name].model})", "its own weights", build)


def _with_weights(method: Callable[[Verifier, str], Method], name: str, run: RunModels) -> Method:
    return method(run.named_verifier(name), name)


def _lettuce(name: str) -> MethodEntry:
    def build(run: RunModels) -> Method:
        return LettuceDetect(name, device=run.configuration.device)

    summary = f"tokens of the response, the worst one ({MODELS[name]})"
    return MethodEntry(name, summary, "its own weights", build)


def _one_prompt(run: RunModels) -> Method:
    verifier = run.verifier
    if not isinstance(verifier, LargeVerifier):
        raise ConfigurationError("the method one-prompt needs --verifier large")
    return OnePrompt(verifier)


METHODS: dict[str, MethodEntry] = {
    entry.name: entry
    for entry in (
        MethodEntry("halldetect", "claims against windows", "verifier", _halldetect),
        MethodEntry("paper", "the paper's method", "verifier, extractor", _paper),
        _pairwise(NliOnly, "the whole response against the whole source"),
        _pairwise(SummacZsStyle, "every sentence against every source sentence, mean"),
        _pairwise(SummacConvStyle, "as summac-zs-style, with a fitted layer"),
        _pairwise(MiniCheckStyle, "sentences against chunks, minimum"),
        _pairwise(AlignScoreStyle, "sentences against chunks, mean"),
        _prompted(LlmCot, "reasoning, then yes or no"),
        _prompted(LongContext, "one call for all sentences"),
        MethodEntry("one-prompt", "all sentences in one prompt", "the verifier large", _one_prompt),
        _prompted(FactScore, "facts against the nearest passages"),
        _prompted(AcuEval, "content units against the source"),
        _prompted(QaFactEval, "questions about the response, asked about the source"),
        MethodEntry(
            "selfcheck",
            "distance to five responses of the model",
            "llm, embedder",
            lambda run: SelfCheck(run.llm, run.embedder, seed=run.configuration.seed),
        ),
        MethodEntry(
            "embedding",
            "distance to the source",
            "embedder",
            lambda run: EmbeddingDivergence(run.embedder),
        ),
        *_published(MiniCheckT5, "sentences against chunks, minimum", "minicheck-ft5"),
        *_published(
            MiniCheck, "sentences against chunks, minimum", "minicheck-deberta", "minicheck-roberta"
        ),
        _prompted(BespokeMiniCheck, "sentences against the source, minimum; --llm is a copy of it"),
        *_published(
            AlignScore, "sentences against chunks, mean", "alignscore-large", "alignscore-base"
        ),
        MethodEntry(
            "summac-zs-vitc",
            f"sentences against sentences, mean ({PEERS[SUMMAC].model})",
            "its own weights",
            lambda run: SummacZs(run.named_verifier(SUMMAC)),
        ),
        MethodEntry(
            "summac-conv-vitc",
            "as summac-zs-vitc, with its published layer",
            "its own weights",
            lambda run: SummacConv(run.named_verifier(SUMMAC)),
        ),
        *_published(WholePair, "the whole response, once", "hhem-2.1-open", "trueteacher"),
        *_published(FactCg, "the whole response against chunks", "factcg"),
        *map(_lettuce, MODELS),
        MethodEntry("rouge-l", "words in common, in order", "nothing", lambda run: RougeL()),
    )
}
