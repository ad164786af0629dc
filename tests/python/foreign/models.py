"""Models that others wrote, by their configurations alone: no weights, no downloads.

Each function gives (model, arguments, keyword arguments) and is named as its row in known.json. The sizes are those that were published.
"""

import torch
import torchvision
import transformers
from torch import nn


def ids(batch=1, length=128):
    return torch.ones(batch, length, dtype=torch.long)


def image(batch=2, size=224):
    return torch.zeros(batch, 3, size, size)


def language(config, model, **sizes):
    """As a training script calls it: with the mask of a tokenizer, and no cache."""
    made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
    return made, (), {"input_ids": ids(), "attention_mask": ids(), "use_cache": False}


def resnet18():
    return torchvision.models.resnet18(), (image(),), {}


def resnet50():
    return torchvision.models.resnet50(), (image(),), {}


def mobilenet_v2():
    return torchvision.models.mobilenet_v2(), (image(),), {}


def efficientnet_b0():
    return torchvision.models.efficientnet_b0(), (image(),), {}


def convnext_tiny():
    return torchvision.models.convnext_tiny(), (image(),), {}


def vit_b_16():
    return torchvision.models.vit_b_16(), (image(),), {}


def swin_t():
    return torchvision.models.swin_t(), (image(),), {}


def resnetv2_50():
    import timm
    return timm.create_model("resnetv2_50", pretrained=False), (image(),), {}


def deit_tiny_patch16_224():
    import timm
    return timm.create_model("deit_tiny_patch16_224", pretrained=False), (image(),), {}


def tinyllama():
    return language("LlamaConfig", "LlamaForCausalLM", hidden_size=2048, intermediate_size=5632, num_hidden_layers=22, num_key_value_heads=4)


def mistral_7b():
    return language("MistralConfig", "MistralForCausalLM")


def qwen2_05b():
    return language("Qwen2Config", "Qwen2ForCausalLM", hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
                    num_key_value_heads=2, tie_word_embeddings=True)


def mixtral_8x7b():
    return language("MixtralConfig", "MixtralForCausalLM")


def qwen3_30b_a3b():
    return language("Qwen3MoeConfig", "Qwen3MoeForCausalLM", num_hidden_layers=48, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
                    num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768, tie_word_embeddings=False)


def gemma2_2b():
    return language("Gemma2Config", "Gemma2ForCausalLM", hidden_size=2304, intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8,
                    num_key_value_heads=4, head_dim=256)


def gpt_oss_20b():
    return language("GptOssConfig", "GptOssForCausalLM", num_hidden_layers=24, num_local_experts=32)


def deepseek_v2_lite():
    return language("DeepseekV2Config", "DeepseekV2ForCausalLM", vocab_size=102400, hidden_size=2048, intermediate_size=10944, num_hidden_layers=27,
                    num_attention_heads=16, num_key_value_heads=16, n_shared_experts=2, n_routed_experts=64, kv_lora_rank=512, q_lora_rank=None,
                    qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, topk_method="greedy", num_experts_per_tok=6,
                    moe_intermediate_size=1408, first_k_dense_replace=1)


def opt_125m():
    return language("OPTConfig", "OPTForCausalLM")


def gpt2():
    return language("GPT2Config", "GPT2LMHeadModel")


def mamba_130m():
    made = transformers.MambaForCausalLM(transformers.MambaConfig(hidden_size=768, num_hidden_layers=24, vocab_size=50280))
    return made, (), {"input_ids": ids(1, 8), "use_cache": False}  # without kernels of its own, each token is a step of many ops


def bert_base():
    made = transformers.BertForMaskedLM(transformers.BertConfig())
    return made, (), {"input_ids": ids(), "attention_mask": ids()}


def t5_small():
    made = transformers.T5ForConditionalGeneration(transformers.T5Config(decoder_start_token_id=0))
    return made, (), {"input_ids": ids(), "attention_mask": ids(), "decoder_input_ids": ids(1, 32), "use_cache": False}


def whisper_tiny():
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=4,
                                        decoder_attention_heads=6, decoder_ffn_dim=1536, max_source_positions=1500, max_target_positions=448)
    return transformers.WhisperForConditionalGeneration(config), (), {
        "input_features": torch.zeros(1, 80, 3000), "decoder_input_ids": ids(1, 32), "use_cache": False}


def wav2vec2_base():
    return transformers.Wav2Vec2Model(transformers.Wav2Vec2Config()), (), {"input_values": torch.zeros(1, 16000)}


def clip_vit_b32():
    made = transformers.CLIPModel(transformers.CLIPConfig())
    return made, (), {"input_ids": ids(1, 77), "attention_mask": ids(1, 77), "pixel_values": image(1)}


def vit_base():
    return transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)), (), {"pixel_values": image()}


def segformer_b0():
    return transformers.SegformerForSemanticSegmentation(transformers.SegformerConfig(num_labels=150)), (), {"pixel_values": image(1, 512)}


def unet_sd15():
    from diffusers import UNet2DConditionModel
    made = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, attention_head_dim=8)
    return made, (torch.zeros(1, 4, 64, 64), torch.tensor(1), torch.zeros(1, 77, 768)), {}


class Words(nn.Module):
    """word_language_model of pytorch/examples: LSTM, two layers of 200, the words of WikiText-2."""

    def __init__(self):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(33278, 200), nn.LSTM(200, 200, 2), nn.Linear(200, 33278)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


def lstm_words():
    return Words(), (ids(35, 20),), {}


class Clicks(nn.Module):
    """DLRM in small: numbers, and bags of rows of large tables."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(100_000, 64, mode="sum") for _ in range(8))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(64 * 9, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, numbers, rows, starts):
        return self.top(torch.cat([self.bottom(numbers), *(table(rows, starts) for table in self.tables)], 1))


def dlrm_small():
    return Clicks(), (torch.zeros(128, 13), torch.zeros(512, dtype=torch.long), torch.arange(0, 512, 4)), {}


MODELS = [function for name, function in sorted(globals().items())
          if getattr(function, "__module__", "") == __name__ and name not in ("ids", "image", "language") and not isinstance(function, type)]
