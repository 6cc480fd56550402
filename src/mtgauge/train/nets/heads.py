"""The regressors on frozen token vectors: BiLSTM, BiLSTM+attention and ESIM (paper 002), RUSE.

    model = ContextModel("esim", layers=6, width=384, hidden=300)
    model(first, first_mask, second, second_mask)      # (n,) predicted z-scores

`first` is the reference (or the source), `second` the translation; each is (n, layers, tokens,
width), the encoder's block outputs without special tokens, with a mask of real tokens. With h a
shared BiLSTM over a learned mix of the layers, a_ij = <h^r_i, h^t_j>, and r~, t~ the attended
sequences (for each token the other side's tokens, softmax over the index that is summed):

    bilstm             v_s = [max h_s; mean h_s];       m = [v_t; v_r; v_t*v_r; v_t - v_r]
    bilstm-attention   a = mean and max of r~, b = of t~;  m = [a; b; a - b; a*b] for mean and max
    esim               [h; h~; h - h~; h*h~] -> 300 -> second BiLSTM -> mean and max of both sides
    ruse               no BiLSTM: u, v mean vectors of the sides; m = [u; v; |u - v|; u*v]

    y = w . relu(W m + b) + b',  mean squared error on z-scores

Layer mix: softmax of scalars that begin at 0, times gamma that begins at 1, so that it begins as
the mean of the layers; dropout 0.5 with one mask per sequence; Xavier weights, orthogonal recurrent
ones, forget gates open. A text without any token counts as one zero vector.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mtgauge.train.settings import HeadName

MASKED = -1e7


class ScalarMix(nn.Module):
    """gamma * sum_l softmax(s)_l * x_l over axis 1."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.scalars = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(1))

    def weights(self) -> Tensor:
        return self.gamma * torch.softmax(self.scalars, 0)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("l,nltd->ntd", self.weights().to(x.dtype), x).to(self.gamma.dtype)


class SequenceDropout(nn.Module):
    """Dropout with one mask per sequence, shared over its tokens."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        mask = torch.empty(x.shape[0], 1, x.shape[2], device=x.device, dtype=x.dtype)
        return x * mask.bernoulli_(1 - self.share) / (1 - self.share)


class BiLSTM(nn.Module):
    """(n, t, width) -> (n, t, 2 * hidden); what follows the last real token is 0."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        for name, p in self.lstm.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(p)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(p)
            else:
                nn.init.zeros_(p)
                if name.startswith("bias_hh"):
                    with torch.no_grad():
                        p[hidden : 2 * hidden].fill_(1.0)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        if x.device.type == "cpu" and not torch.onnx.is_in_onnx_export():
            return self._padded(x, mask)
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=x.shape[1]
        )
        return out

    def _padded(self, x: Tensor, mask: Tensor) -> Tensor:
        """The same without packing, which a processor calculates twice as fast.

        Padding stands after the text in both directions: each text is turned round by itself.
        """
        lengths = mask.sum(1, keepdim=True).clamp(min=1)
        step = torch.arange(x.shape[1], device=x.device)
        turned = torch.where(step < lengths, lengths - 1 - step, step).unsqueeze(-1)
        forward = self._one_way(x, "")
        backward = self._one_way(x.gather(1, turned.expand_as(x)), "_reverse")
        backward = backward.gather(1, turned.expand_as(backward))
        return torch.cat([forward, backward], -1) * (step < lengths).unsqueeze(-1)

    def _one_way(self, x: Tensor, suffix: str) -> Tensor:
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        weights = [getattr(self.lstm, name + suffix) for name in names]
        start = x.new_zeros(1, len(x), self.lstm.hidden_size)
        out, _, _ = torch.lstm(x, (start, start), weights, True, 1, 0.0, self.training, False, True)
        return out


def pool(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over real tokens, (n, d) each."""
    real = mask.unsqueeze(-1)
    count = mask.sum(1, keepdim=True).clamp(min=1)
    mean = (x * real).sum(1) / count
    return mean, x.masked_fill(real == 0, MASKED).max(1).values


def attend(h: Tensor, h_mask: Tensor, g: Tensor, g_mask: Tensor) -> tuple[Tensor, Tensor]:
    """For each token of h its mixture of g's tokens, and the other way round."""
    similarity = h @ g.transpose(1, 2)
    over_g = similarity.masked_fill(g_mask.unsqueeze(1) == 0, MASKED).softmax(-1)
    over_h = similarity.masked_fill(h_mask.unsqueeze(2) == 0, MASKED).softmax(1)
    return over_g @ g, over_h.transpose(1, 2) @ h


class ContextModel(nn.Module):
    def __init__(
        self, head: HeadName, layers: int, width: int, hidden: int = 300, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.head = head
        self.width = width
        self.mix = ScalarMix(layers)
        self.input_dropout = SequenceDropout(dropout)
        if head != "ruse":
            self.encoder = BiLSTM(width, hidden)
        if head == "esim":
            self.project = nn.Linear(8 * hidden, hidden)
            self.inner_dropout = SequenceDropout(dropout)
            self.compose = BiLSTM(hidden, hidden)
        features = {"esim": 8 * hidden, "ruse": 4 * width}.get(head, 16 * hidden)
        self.regress = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(features, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 1),
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(
        self, first: Tensor, first_mask: Tensor, second: Tensor, second_mask: Tensor
    ) -> Tensor:
        return self.compare(self.mix(first), first_mask, self.mix(second), second_mask)

    def compare(
        self, first: Tensor, first_mask: Tensor, second: Tensor, second_mask: Tensor
    ) -> Tensor:
        """The score from vectors whose layers are mixed, (n, tokens, width)."""
        # one token at least, so that no pooling is over nothing
        first_mask, second_mask = _at_least_one(first_mask), _at_least_one(second_mask)
        r, t = self.input_dropout(first), self.input_dropout(second)
        if self.head != "ruse":
            r, t = self._both(self.encoder, (r, t), (first_mask, second_mask))
        features = {
            "ruse": self._ruse,
            "bilstm": self._bilstm,
            "bilstm-attention": self._attention,
            "esim": self._esim,
        }[self.head](r, first_mask, t, second_mask)
        score: Tensor = self.regress(features).squeeze(-1)
        return score

    def _both(
        self, lstm: BiLSTM, sides: tuple[Tensor, Tensor], masks: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """One BiLSTM over both sides; at once where they are equally wide: half the steps."""
        (r, t), n = sides, len(sides[0])
        if r.shape[1] != t.shape[1]:
            return lstm(r, masks[0]), lstm(t, masks[1])
        both = lstm(torch.cat(sides), torch.cat(masks))
        return both[:n], both[n:]

    def _ruse(self, r: Tensor, r_mask: Tensor, t: Tensor, t_mask: Tensor) -> Tensor:
        u, v = pool(r, r_mask)[0], pool(t, t_mask)[0]
        return torch.cat([u, v, (u - v).abs(), u * v], 1)

    def _bilstm(self, r: Tensor, r_mask: Tensor, t: Tensor, t_mask: Tensor) -> Tensor:
        r_mean, r_max = pool(r, r_mask)
        t_mean, t_max = pool(t, t_mask)
        v_r, v_t = torch.cat([r_max, r_mean], 1), torch.cat([t_max, t_mean], 1)
        return torch.cat([v_t, v_r, v_t * v_r, v_t - v_r], 1)

    def _attention(self, r: Tensor, r_mask: Tensor, t: Tensor, t_mask: Tensor) -> Tensor:
        r_attended, t_attended = attend(r, r_mask, t, t_mask)
        a_mean, a_max = pool(r_attended, r_mask)
        b_mean, b_max = pool(t_attended, t_mask)
        mean = [a_mean, b_mean, a_mean - b_mean, a_mean * b_mean]
        return torch.cat([*mean, a_max, b_max, a_max - b_max, a_max * b_max], 1)

    def _esim(self, r: Tensor, r_mask: Tensor, t: Tensor, t_mask: Tensor) -> Tensor:
        r_attended, t_attended = attend(r, r_mask, t, t_mask)
        composed: list[Tensor] = []
        for h, attended in ((r, r_attended), (t, t_attended)):
            enhanced = torch.cat([h, attended, h - attended, h * attended], -1)
            composed.append(self.inner_dropout(torch.relu(self.project(enhanced))))
        r, t = self._both(self.compose, (composed[0], composed[1]), (r_mask, t_mask))
        return torch.cat([*pool(r, r_mask), *pool(t, t_mask)], 1)


def _at_least_one(mask: Tensor) -> Tensor:
    first = (torch.arange(mask.shape[1], device=mask.device) == 0).to(mask.dtype)
    return torch.maximum(mask, first)
