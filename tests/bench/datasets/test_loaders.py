"""The loaders on tiny files in the publishers' formats, and on the real ones where they are."""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import DATASETS, data_root, load_dataset
from tests.support.paths import DATASETS_FOLDER

real = pytest.mark.skipif(
    not DATASETS_FOLDER.is_dir(), reason="the datasets are not on this machine"
)


def write_json(root: Path, name: str, value: Any) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")


def write_lines(root: Path, name: str, records: Iterable[Any]) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def write_csv(root: Path, name: str, records: list[dict[str, Any]]) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, fieldnames=list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def labels(rows: tuple[Row, ...]) -> list[bool | None]:
    return [row.hallucinated for row in rows]


def answers(*given: str) -> list[dict[str, Any]]:
    return [{"worker_id": place, "response": answer} for place, answer in enumerate(given)]


def test_qags_takes_a_strict_majority(tmp_path: Path) -> None:
    article = {
        "article": "A long article.",
        "summary_sentences": [
            {"sentence": "One.", "responses": answers("yes", "no", "yes")},
            {"sentence": "Two.", "responses": answers("yes", "no")},
        ],
    }
    fine = {**article, "summary_sentences": article["summary_sentences"][:1]}
    write_lines(tmp_path, "qags/mturk_cnndm.jsonl", [article, fine])
    first, second = load_dataset("qags-cnndm", tmp_path).rows
    assert (first.response, first.hallucinated) == ("One. Two.", True)
    assert first.sentences == (("One.", False), ("Two.", True))
    assert second.hallucinated is False
    assert first.document == second.document != ""


def test_rows_are_checked_and_the_reasons_kept(tmp_path: Path) -> None:
    good = {"doc_id": "d", "system": "M1", "source": "S.", "summary": "R.", "consistency": 5.0}
    write_lines(
        tmp_path,
        "summeval/summeval.jsonl",
        [
            good,
            {**good, "system": "M2", "summary": "  "},
            {**good, "system": "M3", "source": ""},
            good,
            {"doc_id": "d"},
            {**good, "system": "M4", "consistency": "many"},
            {**good, "system": "M5", "summary": None},
            {**good, "system": "M6", "consistency": 4.67},
        ],
    )
    loaded = load_dataset("summeval", tmp_path)
    assert [(row.id, row.hallucinated) for row in loaded.rows] == [("d/M1", False), ("d/M6", True)]
    reasons = dict(loaded.dropped)
    assert reasons["d/M2"] == "empty response"
    assert reasons["d/M3"] == "empty source"
    assert reasons["d/M1"] == "id seen before"
    assert reasons["record 5"] == "no field 'consistency'"
    assert reasons["record 6"].startswith("malformed: ")
    assert reasons["d/M5"] == "response is not text"


def test_xsumfaith_counts_workers(tmp_path: Path) -> None:
    def mark(system: str, worker: int, kind: str) -> dict[str, str]:
        return {
            "bbcid": "7", "system": system, "summary": "s", "hallucination_type": kind,
            "hallucinated_span": "s", "hallucinated_span_start": "1",
            "hallucinated_span_end": "2", "worker_id": f"wid_{worker}",
        }  # fmt: skip

    write_csv(
        tmp_path,
        "xsumfaith/hallucination_annotations_xsum_summaries.csv",
        [
            mark("A", 0, "extrinsic"), mark("A", 0, "intrinsic"), mark("A", 1, "extrinsic"),
            mark("A", 2, "NULL"), mark("B", 0, "intrinsic"), mark("B", 1, "NULL"),
            mark("B", 2, "NULL"), {**mark("A", 0, "NULL"), "bbcid": "8"},
        ],
    )  # fmt: skip
    write_json(tmp_path, "xsumfaith/xsum_docs_joined.json", {"7": "An article."})
    loaded = load_dataset("xsumfaith", tmp_path)
    assert [(row.id, row.hallucinated, row.kind) for row in loaded.rows] == [
        ("7/A", True, "extrinsic"),
        ("7/B", False, None),
    ]
    assert loaded.dropped == (("record 3", "no article with bbcid 8"),)


def test_summedits_places_an_error_only_where_sure(tmp_path: Path) -> None:
    seed = "He won. She lost."
    base = {"doc": "D.", "original_summary": seed, "split": "test", "edit_types": []}
    for domain in ("ectsum", "news", "podcast", "qmsumm", "sales_call", "sales_email", "samsum"):
        write_json(tmp_path, f"summedits/summedits_{domain}.json", [])
    edits = ["negation_insertion_removal"]
    write_json(
        tmp_path,
        "summedits/summedits_scitldr.json",
        [
            {**base, "id": "1", "summary": seed, "label": 1},
            {**base, "id": "2", "summary": "He won. He lost.", "label": 0, "edit_types": edits},
            {**base, "id": "3", "summary": "We won. He lost.", "label": 0},
        ],
    )
    rows = load_dataset("summedits", tmp_path).rows
    assert labels(rows) == [False, True, True]
    assert rows[0].sentences == (("He won.", False), ("She lost.", False))
    assert rows[1].sentences == (("He won.", False), ("He lost.", True))
    assert rows[1].kind == "negation_insertion_removal"
    assert rows[2].sentences == ()
    assert rows == load_dataset("summedits-scitldr", tmp_path).rows


def test_faithbench_takes_unwanted_only(tmp_path: Path) -> None:
    base = {"source": "S, with a comma.", "summary": " R.", "LLM": "m", "best-label": "Consistent"}
    kinds = ["Consistent", "Unwanted", "Benign", "Questionable", "Unwanted.Intrinsic"]
    write_csv(
        tmp_path, "faithbench/FaithBench.csv", [{**base, "worst-label": kind} for kind in kinds]
    )
    rows = load_dataset("faithbench", tmp_path).rows
    assert labels(rows) == [False, True, False, False, True]
    assert rows[0].response == "R."


def test_defacto_splits_and_corrections(tmp_path: Path) -> None:
    def record(number: int, wrong: bool, corrected: str) -> dict[str, Any]:
        return {
            "article": "A.", "abstract": "R.", "candidate": "C.", "doc_id": number,
            "has_error": wrong, "intrinsic_error": wrong, "extrinsic_error": False,
            "feedback": {"summary": corrected, "evidence": "", "explanation": ""},
        }  # fmt: skip

    write_lines(tmp_path, "defacto/train.jsonl", [record(1, True, "Fixed."), record(2, False, "")])
    write_lines(tmp_path, "defacto/test.jsonl", [record(3, False, "")])
    rows = load_dataset("defacto-train", tmp_path).rows
    assert [(row.hallucinated, row.kind) for row in rows] == [(True, "intrinsic"), (False, None)]
    assert [row.id for row in load_dataset("defacto", tmp_path).rows] == ["test/3"]


def test_storysumm_drops_sentence_labels_that_disagree(tmp_path: Path) -> None:
    base = {"story": "S.", "difficulty": "easy", "story-id": 1, "summary": ["One.", "Two."]}
    stories = {
        "a": {**base, "label": 0, "errors": [1, 0]},
        "b": {**base, "label": 0, "errors": [1, 1]},
        "c": {**base, "label": 1, "errors": [1]},
    }
    write_json(tmp_path, "storysumm/storysumm_fixed.json", stories)
    rows = load_dataset("storysumm", tmp_path).rows
    assert labels(rows) == [True, True, False]
    assert [row.sentences for row in rows] == [(("One.", False), ("Two.", True)), (), ()]


def test_dialsummeval_means_and_turns(tmp_path: Path) -> None:
    record = {
        "id": "1", "dialogue": "| Ann: Hi! | Bob: a | b", "summary": "Ann greets Bob.",
        "annotations": [{"consistency": c} for c in (5, 4, 2)], "model_id": "A",
    }  # fmt: skip
    write_lines(tmp_path, "dialsummeval/human_judgment.jsonl", [record])
    (row,) = load_dataset("dialsummeval", tmp_path).rows
    assert row.score == pytest.approx(11 / 3)
    assert row.hallucinated is True
    assert row.source == "Ann: Hi!\nBob: a | b"


def test_wice_is_claim_level(tmp_path: Path) -> None:
    def record(number: int, label: str) -> dict[str, Any]:
        evidence = ["(meta data) TITLE: T", "A sentence."]
        return {"label": label, "claim": "C.", "evidence": evidence, "meta": {"id": f"dev{number}"}}

    given = ["supported", "partially_supported", "not_supported", "unsure"]
    records = [record(number, label) for number, label in enumerate(given)]
    write_lines(tmp_path, "wice/claim_dev.jsonl", records)
    loaded = load_dataset("wice", tmp_path)
    assert labels(loaded.rows) == [False, True, True]
    assert loaded.rows[1].sentences == (("C.", True),)
    assert loaded.rows[1].kind == "partially_supported"
    assert loaded.dropped == (("record 4", "unknown label 'unsure'"),)


def test_bump_keeps_references_once_and_no_training_articles(tmp_path: Path) -> None:
    def record(number: int, edited: str, article: int = 5) -> dict[str, Any]:
        return {
            "id": number, "article_id": article, "article": "A.", "reference_summary": "Right.",
            "edited_summary": edited, "error_type": "Intrinsic Entity Error", "scores": {},
        }  # fmt: skip

    edited = [record(0, "Wrong."), record(1, "Bad."), record(2, "Trained on.", article=6)]
    write_json(tmp_path, "bump/task1_dataset.json", edited)
    write_json(tmp_path, "bump/task2_dataset.json", [record(0, "False.")])
    rows = load_dataset("bump", tmp_path).rows
    assert [(row.response, row.hallucinated) for row in rows] == [
        ("Wrong.", True), ("Right.", False), ("Bad.", True), ("False.", True),
    ]  # fmt: skip
    assert rows[0].kind == "intrinsic entity"
    assert len(load_dataset("bump-task2", tmp_path).rows) == 2


def test_pubmedqa_pairs_conclusions_with_wrong_ones(tmp_path: Path) -> None:
    # Ids of the release, whose edits are stored; the texts are ours.
    edited, exchanged, other, unknown = "10173769", "10158597", "10173769", "1"
    abstracts = {
        edited: {"CONTEXTS": ["One.", "Two."], "LONG_ANSWER": "x" * 200, "QUESTION": "Why?"},
        exchanged: {"CONTEXTS": ["Three."], "LONG_ANSWER": "No."},
        unknown: {"CONTEXTS": ["Four."], "LONG_ANSWER": "Yes."},
    }
    write_json(tmp_path, "pubmedqa/ori_pqal.json", abstracts)
    write_json(tmp_path, "pubmedqa/test_ground_truth.json", dict.fromkeys(abstracts, "yes"))
    loaded = load_dataset("pubmedqa", tmp_path)
    assert labels(loaded.rows) == [False, True] * 2
    assert [row.kind for row in loaded.rows] == [None, "mismatch", None, "polarity"]
    assert loaded.rows[1].response == abstracts[other]["LONG_ANSWER"]
    assert loaded.rows[3].response == "x" * 150 + "not " + "x" * 50
    assert loaded.rows[3].source == "One.\n\nTwo."
    assert loaded.dropped == (("record 1", "no field '1'"),)


def test_factcg_reads_json_lines_in_a_json_file(tmp_path: Path) -> None:
    base = {"task": "bin_grounding", "text_a": "D.", "text_b": ["C."], "text_c": []}
    records = [{**base, "orig_label": label} for label in (1, 0)]
    write_lines(tmp_path, "factcg/CG2C_doc.json", records)
    assert labels(load_dataset("factcg", tmp_path).rows) == [False, True]


AGGREFACT = [
    {"dataset": "AggreFact-CNN", "doc": "D.", "claim": "C.", "label": 1},
    {"dataset": "RAGTruth", "doc": "D.", "claim": "C.", "label": 0},
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_llm_aggrefact_in_any_published_form(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "llm-aggrefact" / "data"
    folder.mkdir(parents=True)
    if suffix == "csv":
        write_csv(folder, "test.csv", AGGREFACT)
    elif suffix == "jsonl":
        write_lines(folder, "test.jsonl", AGGREFACT)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.Table.from_pylist(AGGREFACT)
        parquet.write_table(table, folder / "test-00000-of-00001.parquet")
    rows = load_dataset("llm-aggrefact", tmp_path).rows
    assert labels(rows) == [False, True]
    assert rows[0].dataset == "llm-aggrefact-AggreFact-CNN"
    with pytest.raises(InputError, match=r"no dev\*\.parquet"):
        load_dataset("llm-aggrefact-dev", tmp_path)


def test_ragtruth_joins_responses_with_sources(tmp_path: Path) -> None:
    span = {"start": 0, "end": 2, "text": "R1", "meta": "", "label_type": "Evident Conflict"}
    base = {"model": "m", "temperature": 0.7, "split": "test", "quality": "good", "labels": []}
    write_lines(
        tmp_path,
        "ragtruth/response.jsonl",
        [
            {**base, "id": "1", "source_id": "s", "response": "R1.", "labels": [span]},
            {**base, "id": "2", "source_id": "q", "response": "R2."},
            {**base, "id": "3", "source_id": "d", "response": "R3."},
            {**base, "id": "4", "source_id": "d", "response": "R4.", "split": "train"},
            {**base, "id": "5", "source_id": "none", "response": "R5."},
            {**base, "id": "6", "source_id": "even", "response": "R6."},
            {**base, "id": "7", "source_id": "even", "response": "R7.", "split": "train"},
        ],
    )
    place = {"name": "Subway", "hours": {"Monday": "9-5"}, "reviews": [{"stars": 1}], "x": None}
    write_lines(
        tmp_path,
        "ragtruth/source_info.jsonl",
        [
            {"source_id": "s", "task_type": "Summary", "source_info": "An article."},
            {"source_id": "q", "task_type": "QA",
             "source_info": {"question": "Why?", "passages": "passage 1: Rain."}},
            {"source_id": "even", "task_type": "QA",
             "source_info": {"question": "Why?", "passages": "passage 1: So."}},
            {"source_id": "d", "task_type": "Data2txt", "source_info": place},
        ],
    )  # fmt: skip
    loaded = load_dataset("ragtruth", tmp_path)
    assert labels(loaded.rows) == [True, False, False]
    assert loaded.rows[0].kind == "evident conflict"
    assert (loaded.rows[1].source, loaded.rows[1].question) == ("passage 1: Rain.", "Why?")
    assert json.loads(str(loaded.rows[2].source)) == place
    assert loaded.rows[0].spans == ((0, 2),)
    assert loaded.rows[0].sentences == (("R1.", True),)
    assert loaded.dropped == (("record 5", "no source with source_id none"),)
    train = load_dataset("ragtruth-train", tmp_path).rows
    assert [row.id for row in train] == ["4", "7"], "trained on: an even CRC-32 of the source"


def test_ragtruth_selection_separates_what_was_trained_on(tmp_path: Path) -> None:
    texts = [f"Article {number}." for number in range(8)]
    span = {"start": 10, "end": 14, "label_type": "Subtle Conflict"}
    answers = [{"response": "All right. Then wrong.", "labels": [span]}]
    records = [
        {"source_id": str(at), "source": text, "responses": answers}
        for at, text in enumerate(texts)
    ]
    for task in ("summary", "data2txt"):
        write_lines(tmp_path, f"ragtruth/ragtruth_{task}.jsonl", records)
    trained = {text for text in texts if zlib.crc32(text.encode()) % 2 == 0}
    test = load_dataset("ragtruth-selection-summary", tmp_path).rows
    train = load_dataset("ragtruth-selection-summary-train", tmp_path).rows
    assert {row.source for row in train} == trained
    assert {row.source for row in test} == set(texts) - trained
    assert test[0].sentences == (("All right.", False), ("Then wrong.", True))
    assert len(load_dataset("ragtruth-selection-data2txt", tmp_path).rows) == 8


def test_clearfacts_names_the_set_of_each_row(tmp_path: Path) -> None:
    row = {"statement": "S.", "reference_documents": ["D."], "category": "Wice"}
    rows = [{**row, "label": "S"}, {**row, "label": "NS"}, {**row, "label": "?"}]
    write_lines(tmp_path, "clearfacts/aggrefact.jsonl", rows)
    loaded = load_dataset("clearfacts", tmp_path)
    assert [(row.hallucinated, row.kind) for row in loaded.rows] == [
        (False, "Wice"),
        (True, "Wice"),
    ]
    assert len(loaded.dropped) == 1


def test_tofueval_is_a_part_of_clearfacts(tmp_path: Path) -> None:
    row = {"statement": "S.", "reference_documents": ["ANN: Hi."], "label": "NS"}
    names = ("TofuEval-MediaS", "Wice", "TofuEval-MeetB")
    write_lines(
        tmp_path, "clearfacts/aggrefact.jsonl", [{**row, "category": name} for name in names]
    )
    loaded = load_dataset("tofueval", tmp_path)
    assert [(row.dataset, row.id, row.source, row.hallucinated) for row in loaded.rows] == [
        ("tofueval-mediasum", "1", "ANN: Hi.", True),
        ("tofueval-meetingbank", "3", "ANN: Hi.", True),
    ]
    assert load_dataset("tofueval-meetingbank", tmp_path).rows == loaded.rows[1:]
    assert loaded.dropped == ()


def write_tofueval(root: Path) -> None:
    base = {"doc_id": "NPR-1", "annotation_id": 1, "topic": "T", "model_name": "m", "exp": ""}
    right = {**base, "sent_idx": 2, "summ_sent": "Two.", "sent_label": "yes", "type": ""}
    kinds = "Extrinsic Information, Reasoning Error"
    wrong = {**base, "sent_idx": 1, "summ_sent": "One.", "sent_label": "no", "type": kinds}
    for split in ("dev", "test"):
        city = {"doc_id": f"City {split}"}
        records = [{**right, **city}, {**wrong, **city}]
        write_csv(root, f"tofueval/mediasum_factual_eval_{split}.csv", [{**right, "topic": split}])
        write_csv(root, f"tofueval/meetingbank_factual_eval_{split}.csv", records)


def test_tofueval_summaries_join_their_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLDETECT_TRANSCRIPTS", raising=False)
    write_tofueval(tmp_path)
    with pytest.raises(InputError, match=r"comes without .*transcripts is no folder"):
        load_dataset("tofueval-summaries", tmp_path)
    elsewhere = tmp_path / "mine"
    dialogue = {"id": "NPR-1", "speaker": ["ANN, host"], "utt": ["Hello."]}
    write_json(elsewhere, "news_dialogue.json", [dialogue])
    meeting = {"meeting_id": "City dev", "source": "Speaker: Hi."}
    write_csv(elsewhere, "meetingbank_dev_doc.csv", [meeting])
    monkeypatch.setenv("HALLDETECT_TRANSCRIPTS", str(elsewhere))
    loaded = load_dataset("tofueval-summaries", tmp_path)
    media, meetings = "tofueval-summaries-mediasum", "tofueval-summaries-meetingbank"
    assert [(row.dataset, row.hallucinated) for row in loaded.rows] == [
        (media, False), (media, False), (meetings, True),
    ]  # fmt: skip
    assert loaded.rows[0].source == "ANN, host: Hello."
    assert loaded.rows[2].sentences == (("One.", True), ("Two.", False))
    assert loaded.rows[2].response == "One. Two."
    assert loaded.rows[2].kind == "extrinsic information+reasoning error"
    assert loaded.dropped == (("record 2", "no transcript of City test"),)
    (elsewhere / "City test.txt").write_text("Clerk: Yes.", encoding="utf-8")
    last = load_dataset("tofueval-summaries-meetingbank", tmp_path).rows[-1]
    assert (last.source, last.document) == ("Clerk: Yes.", "City test")


def test_falsesum_cuts_its_stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALLDETECT_STORIES", raising=False)
    story = "Ann won. Bob lost.\n\n@highlight\n\nAnn won the race"
    start = story.index("Ann won the")
    pair = {"context_path": "a.story", "label": "0"}
    write_lines(
        tmp_path,
        "falsesum/generated_pairs.dev.jsonl",
        [
            {**pair, "label": "1", "summary": [[start, len(story)], [7, 8]]},
            {**pair, "summary": [[9, 13], [4, 8]]},
            {**pair, "context_path": "b.story", "summary": [[0, 1]]},
            {**pair, "summary": [[0, 999]]},
        ],
    )
    with pytest.raises(InputError, match="HALLDETECT_STORIES"):
        load_dataset("falsesum", tmp_path)
    place = tmp_path / "falsesum" / "stories" / "cnn"
    place.mkdir(parents=True)
    (place / "a.story").write_text(story, encoding="utf-8")
    loaded = load_dataset("falsesum", tmp_path)
    assert [(row.response, row.hallucinated) for row in loaded.rows] == [
        ("Ann won the race.", False),
        ("Bob won.", True),
    ]
    assert loaded.rows[0].source == "Ann won. Bob lost."
    assert loaded.dropped[0] == ("record 3", "no story b.story")
    assert "outside the story" in loaded.dropped[1][1]


def test_memerag_drops_answers_without_a_clear_label(tmp_path: Path) -> None:
    def record(number: int, *states: str) -> dict[str, object]:
        answer = [{"sentence": f"{state}.", "factuality": state} for state in states]
        return {"query_id": number, "query": "Q?", "context": [{"text": "P."}], "answer": answer}

    rows = [record(1, "Supported", "Not Supported"), record(2, "Challenging to determine")]
    write_lines(tmp_path, "memerag/de.jsonl", rows)
    loaded = load_dataset("memerag-de", tmp_path)
    (row,) = loaded.rows
    assert (row.source, row.response, row.question) == (("P.",), "Supported. Not Supported.", "Q?")
    assert row.hallucinated
    assert len(loaded.dropped) == 1


def test_halueval_gives_both_versions(tmp_path: Path) -> None:
    question = {"knowledge": "K.", "question": "Q?"}
    question |= {"right_answer": "A.", "hallucinated_answer": "B."}
    dialogue = {"knowledge": "K.", "dialogue_history": "[Human]: H."}
    dialogue |= {"right_response": "A.", "hallucinated_response": "B."}
    summary = {"document": "D.", "right_summary": "A.", "hallucinated_summary": "B."}
    write_lines(tmp_path, "halueval/qa_data.json", [question])
    write_lines(tmp_path, "halueval/dialogue_data.json", [dialogue])
    write_lines(tmp_path, "halueval/summarization_data.json", [summary])
    rows = load_dataset("halueval", tmp_path).rows
    assert [(row.response, row.hallucinated) for row in rows] == [("A.", False), ("B.", True)] * 3
    assert rows[0].question == "Q?"
    assert rows[2].source == ("K.", "[Human]: H.")
    assert load_dataset("halueval-dialogue", tmp_path).rows == rows[2:4]


def test_own_file(tmp_path: Path) -> None:
    write_lines(
        tmp_path,
        "mine.jsonl",
        [
            {"source": ["D1.", "D2."], "response": "R.", "hallucinated": 1, "kind": "number"},
            {"id": "b", "source": "D.", "response": "R.", "score": 3,
             "sentences": [["R.", False]]},
            {"source": "D.", "response": "R.", "hallucinated": "perhaps"},
            {"source": "D.", "response": "R."},
            ["not", "an", "object"],
        ],
    )  # fmt: skip
    loaded = load_dataset(f"jsonl:{tmp_path / 'mine.jsonl'}")
    assert [(row.id, row.source, row.hallucinated, row.score) for row in loaded.rows] == [
        ("1", ("D1.", "D2."), True, None),
        ("b", "D.", None, 3.0),
    ]
    assert loaded.rows[1].sentences == (("R.", False),)
    assert [name for name, _ in loaded.dropped] == ["record 3", "4", "record 5"]
    assert loaded.dropped[1][1] == "no label"


@pytest.mark.parametrize("name", DATASETS)
def test_missing_files_say_what_to_put_where(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"put .*there") as caught:
        load_dataset(name, tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_input_errors(tmp_path: Path) -> None:
    broken = tmp_path / "qags" / "mturk_cnndm.jsonl"
    broken.parent.mkdir()
    broken.write_text('{"article": "x"}\n{nonsense\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 2: not JSON"):
        load_dataset("qags-cnndm", tmp_path)
    broken.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        load_dataset("qags-cnndm", tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        load_dataset(f"jsonl:{tmp_path / 'none.jsonl'}")


def test_the_root_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALLDETECT_DATA", raising=False)
    with pytest.raises(InputError, match="HALLDETECT_DATA"):
        data_root()
    monkeypatch.setenv("HALLDETECT_DATA", str(tmp_path))
    assert data_root() == tmp_path
    with pytest.raises(InputError, match="no dataset named 'nosuch'; there are qags-cnndm"):
        load_dataset("nosuch")


# Rows, hallucinated rows and documents as the publishers count them.
PUBLISHED = {
    "qags-cnndm": (235, 122, 235),
    "summeval": (1600, 294, 100),
    "xsumfaith": (2500, 2245, 500),
    "summedits": (4681, 3033, 162),
    "faithbench": (800, 485, 80),
    "storysumm": (96, 60, 32),
    "dialsummeval": (1400, 726, 100),
    "wice": (349, 234, 349),
    "defacto-train": (1000, 701, 1000),
    "defacto-val": (486, 341, 486),
    "defacto-test": (1075, 779, 1075),
    "bump": (889 + 198 - 32, 889 - 28, 198 - 4),
    "factcg": (2068, 1034, 1656),
    "pubmedqa": (1000, 500, 500),
    "clearfacts": (982, 414, 806),
    "tofueval": (176, 64, 58),
    "tofueval-mediasum": (87, 31, 30),
    "tofueval-meetingbank": (89, 33, 28),
    "ragtruth-selection-qa": (419, 138, 71),
    "ragtruth-selection-summary": (390, 114, 65),
    "ragtruth-selection-data2txt": (900, 579, 150),
    "ragtruth-selection-qa-train": (398, 121, 68),
    "ragtruth-selection-summary-train": (510, 127, 85),
    "memerag-en": (237, 85, 237),
    "memerag-de": (242, 68, 242),
    "memerag-es": (245, 106, 245),
    "memerag-fr": (249, 120, 249),
    "memerag-hi": (248, 70, 248),
}
UNCLEAR = {"memerag-en": 13, "memerag-de": 8, "memerag-es": 5, "memerag-fr": 1, "memerag-hi": 2}


@real
@pytest.mark.parametrize("name", PUBLISHED)
def test_real_files_have_the_published_size_and_balance(name: str) -> None:
    loaded = load_dataset(name, DATASETS_FOLDER)
    rows = loaded.rows
    hallucinated = sum(row.hallucinated is True for row in rows)
    assert (len(rows), hallucinated, len({row.document for row in rows})) == PUBLISHED[name]
    assert len(loaded.dropped) == UNCLEAR.get(name, 0)


@real
def test_clearfacts_holds_the_texts_of_tofueval() -> None:
    whole = {(row.source, row.response) for row in load_dataset("clearfacts", DATASETS_FOLDER).rows}
    rows = load_dataset("tofueval", DATASETS_FOLDER).rows
    assert {(row.source, row.response) for row in rows} <= whole


@real
@pytest.mark.parametrize(
    ("name", "variable", "records"),
    [
        ("tofueval-summaries", "HALLDETECT_TRANSCRIPTS", 1777),
        ("falsesum", "HALLDETECT_STORIES", 8684),
    ],
)
def test_real_files_without_texts_name_what_is_missing(
    name: str, variable: str, records: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    loaded = load_dataset(name, DATASETS_FOLDER)
    assert loaded.rows == ()
    assert len(loaded.dropped) == records
    assert all(re.match("no (transcript|story)", reason) for _, reason in loaded.dropped)
