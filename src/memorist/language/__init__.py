"""Optional steps of memory that a chat model improves; each has a result without one.

```python
model = open_chat_model("ollama:qwen3")
kept = await keep_facts(memory, [{"role": "user", "content": "I moved to Oslo last week"}], model=model)
report = await Digest(memory, model).run()
print(report.usage)
```
"""

from memorist.language.digest import Digest, DigestReport
from memorist.language.experiences import Lesson, Lessons, Trajectory, draw_experiences, keep_experiences
from memorist.language.extracting import Extraction, Statement, extract_facts
from memorist.language.guidelines import Guidelines, keep_guidelines, statistics_text, write_guidelines
from memorist.language.models import ChatModel, ChatModelSpec, Prices, Reply, Usage
from memorist.language.opening import open_chat_model
from memorist.language.prompting import Prompts
from memorist.language.reconciling import Decision, Reconciled, reconcile
from memorist.language.steps import Problem
from memorist.language.storing_facts import Kept, keep_facts
from memorist.language.writing import Questions, Reflection, Summary, reflect, rewrite_question, summarize

__all__ = [
    "ChatModel",
    "ChatModelSpec",
    "Decision",
    "Digest",
    "DigestReport",
    "Extraction",
    "Guidelines",
    "Kept",
    "Lesson",
    "Lessons",
    "Prices",
    "Problem",
    "Prompts",
    "Questions",
    "Reconciled",
    "Reflection",
    "Reply",
    "Statement",
    "Summary",
    "Trajectory",
    "Usage",
    "draw_experiences",
    "extract_facts",
    "keep_experiences",
    "keep_facts",
    "keep_guidelines",
    "open_chat_model",
    "reconcile",
    "reflect",
    "rewrite_question",
    "statistics_text",
    "summarize",
    "write_guidelines",
]
