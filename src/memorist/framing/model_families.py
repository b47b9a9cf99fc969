"""The control tokens of chat models, by family, as the templates that vendors publish with their models spell them.

``{n}`` stands for a number. Tags that are also everyday XML, such as Granite's ``<documents>`` or Command R's
``<results>``, are not here: a text about XML would lose its brackets, and inside a frame such tags do no harm.
"""

from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ChatML": (
        "<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>",
        "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
    ),
    "Qwen": (
        "✿FUNCTION✿", "✿ARGS✿", "✿RESULT✿", "✿RETURN✿", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
        "<|object_ref_start|>", "<|box_start|>", "<|quad_start|>", "<function=", "<parameter=", "<think>", "</think>",
    ),
    "Hermes": ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<scratch_pad>", "<tools>"),
    "Llama 2": ("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    "Llama 3": (
        "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>",
        "<|python_tag|>", "<|finetune_right_pad_id|>", "<|reserved_special_token_{n}|>",
    ),
    "Llama 4": (
        "<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>", "<|step|>", "<|python_start|>", "<|python_end|>",
        "<|image_start|>", "<|patch|>",
    ),
    "Mistral": (
        "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
        "[TOOL_CONTENT]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]", "[ARGS]",
        "[CALL_ID]", "[IMG]", "[IMG_BREAK]", "[IMG_END]", "[BEGIN_AUDIO]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
        "[THINK]", "[/THINK]",
    ),
    "Gemma": (
        "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>", "<bos>",
        "<eos>", "<start_function_call>", "<end_function_call>", "<start_function_response>",
        "<start_function_declaration>", "<escape>", "<|turn>", "<turn|>", "<|tool_call>", "<tool_call|>",
        "<|channel>", "<channel|>", "<unused{n}>", "```tool_code", "```tool_output",
    ),
    "Gemini": ("<ctrl{n}>", "</ctrl{n}>", "```tool_outputs"),
    "DeepSeek": (
        "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>",
        "<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>", "<｜fim▁hole｜>", "<｜DSML｜", "</｜DSML｜", "<|EOT|>",
    ),
    "Command R": (
        "<BOS_TOKEN>", "<EOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>",
        "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|START_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>",
        "<|START_TOOL_RESULT|>", "<|START_RESPONSE|>", "<co: {n}>", "</co: {n}>", "<co:{n}>", "</co:{n}>",
    ),
    "Granite": ("<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>", "<|start_of_cite|>", "<|start_of_plugin|>"),
    "Phi": ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|tool|>", "<|/tool|>", "<|placeholder{n}|>"),
    "Kimi": (
        "<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>", "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|media_start|>", "[BOS]",
        "[EOS]", "[EOT]", "◁think▷", "◁/think▷",
    ),
    "GLM": (
        "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>", "<|begin_of_image|>", "<arg_key>", "</arg_key>",
        "<arg_value>", "</arg_value>",
    ),
    "Grok": ("<xai:function_call", "</xai:function_call>", "<xai:tool_usage_card", "<|separator|>"),
    "Harmony": (
        "<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|return|>", "<|startoftext|>",
    ),
    "Claude": (
        "<function_calls>", "</function_calls>", "<function_results>", "</function_results>", "<antml:", "</antml:",
        "<invoke name=", "<parameter name=", "</invoke>",
    ),
    "Jamba": ("<|bom|>", "<tool_definitions>", "<tool_calls>", "</tool_calls>", "<active_output_modes>"),
    "MiniMax": ("]~b]", "]~!b[", "[e~[", "<minimax:tool_call>", "]<]minimax[>["),
    "InternLM, Baichuan, Yi": (
        "<|action_start|>", "<|action_end|>", "<|interpreter|>", "<|plugin|>", "<|Human|>", "<eoh>", "<eoa>",
        "<reserved_{n}>",
    ),
    "Falcon": (">>QUESTION<<", ">>ANSWER<<", ">>INTRODUCTION<<", ">>SUMMARY<<", ">>TITLE<<"),
    "Nemotron, Apertus": (
        "<extra_id_{n}>", "<SPECIAL_{n}>", "<TOOLCALL>", "<AVAILABLE_TOOLS>", "<|system_start|>",
        "<|assistant_start|>", "<|tools_prefix|>", "<|inner_prefix|>", "<|developer_start|>",
    ),
    "Seed, Hunyuan": (
        "<seed:bos>", "<seed:eos>", "<seed:tool_call>", "<seed:think>", "<seed:cot_budget_reflect>", "<｜hy_User｜>",
        "<｜hy_begin▁of▁sentence｜>",
    ),
    "Liquid, Functionary": (
        "<|tool_list_start|>", "<|tool_call_start|>", "<|tool_response_start|>", "<|from|>", "<|recipient|>",
        "<|content|>", "<|stop|>",
    ),
}  # fmt: skip
