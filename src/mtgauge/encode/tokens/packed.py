"""Hub encoders of BERT's build as our own network, which needs no padding.

    if packs(config):
        net = packed(bert, config)               # shares the weights of the transformers model
        net(Ragged.of(rows), depth=8)[8]         # (tokens, d), as hidden state 8 of the model

transformers pads a batch, asks the device what the mask looks like, and runs three products for
queries, keys and values; the packed network does none of it. BERT, RoBERTa, XLM-R and CamemBERT
have the same build and names; other families run in transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from mtgauge.encode.transformer import Encoder

FAMILIES = ("bert", "camembert", "roberta", "xlm-roberta")
SHIFTED = FAMILIES[1:]  # their positions start after the padding index


def packs(config: Any) -> bool:
    """Whether a model of this configuration is of BERT's build."""
    return (
        config.model_type in FAMILIES
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        and not getattr(config, "is_decoder", False)
    )


def packed(model: Any, config: Any) -> Encoder:
    """The network with the model's weights, as many layers as it has."""
    import torch

    from mtgauge.encode.transformer import Encoder, Shape

    skip = config.pad_token_id + 1 if config.model_type in SHIFTED else 0
    weights = renamed(model.state_dict(), config.num_hidden_layers, skip)
    shape = Shape(
        vocabulary=len(weights["pieces.weight"]),
        dim=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        inner=config.intermediate_size,
        positions=len(weights["positions.weight"]),
        epsilon=config.layer_norm_eps,
    )
    with torch.device("meta"):
        network = Encoder(shape)
    network.load_state_dict(weights, assign=True)
    return network.eval()


def renamed(bert: Mapping[str, Tensor], layers: int, skip: int = 0) -> dict[str, Tensor]:
    """BERT's weights by the names of `transformer.Encoder`; the first positions are left out."""
    import torch

    tables = "embeddings.{}_embeddings.weight"
    found = {
        "pieces.weight": bert[tables.format("word")],
        "positions.weight": bert[tables.format("position")][skip:]
        + bert[tables.format("token_type")][0],
    }
    parts = {"norm": "embeddings.LayerNorm"}
    for i in range(layers):
        block, theirs = f"blocks.{i}", f"encoder.layer.{i}"
        parts |= {
            f"{block}.out": f"{theirs}.attention.output.dense",
            f"{block}.norm1": f"{theirs}.attention.output.LayerNorm",
            f"{block}.up": f"{theirs}.intermediate.dense",
            f"{block}.down": f"{theirs}.output.dense",
            f"{block}.norm2": f"{theirs}.output.LayerNorm",
        }
    for kind in ("weight", "bias"):
        found |= {f"{ours}.{kind}": bert[f"{name}.{kind}"] for ours, name in parts.items()}
        for i in range(layers):
            heads = [
                bert[f"encoder.layer.{i}.attention.self.{x}.{kind}"]
                for x in ("query", "key", "value")
            ]
            found[f"blocks.{i}.qkv.{kind}"] = torch.cat(heads)
    return found
