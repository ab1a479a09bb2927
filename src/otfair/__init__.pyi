"""The public names, imported on first use: `otfair.__init__` reads this file."""

from . import (
    auditing as auditing,
)
from . import (
    cli as cli,
)
from . import (
    datasets as datasets,
)
from . import (
    geometry as geometry,
)
from . import (
    losses as losses,
)
from . import (
    metrics as metrics,
)
from . import (
    models as models,
)
from . import (
    notions as notions,
)
from . import (
    reproduction as reproduction,
)
from . import (
    saving as saving,
)
from . import (
    tables as tables,
)
from . import (
    tradeoff as tradeoff,
)
from . import (
    transport as transport,
)
from .auditing import Audit as Audit
from .auditing import audit as audit
from .datasets import (
    Dataset as Dataset,
)
from .datasets import (
    DatasetError as DatasetError,
)
from .datasets import (
    download_dataset as download_dataset,
)
from .datasets import (
    list_datasets as list_datasets,
)
from .datasets import (
    load_dataset as load_dataset,
)
from .datasets import (
    locate_dataset as locate_dataset,
)
from .datasets import (
    make_synthetic as make_synthetic,
)
from .datasets import (
    verify_dataset as verify_dataset,
)
from .geometry import CostMatrix as CostMatrix
from .geometry import Geometry as Geometry
from .geometry import PointCloud as PointCloud
from .losses import BarycenterLoss as BarycenterLoss
from .losses import NormLoss as NormLoss
from .losses import OTFLoss as OTFLoss
from .metrics import (
    FairnessScorer as FairnessScorer,
)
from .metrics import (
    demographic_parity_difference as demographic_parity_difference,
)
from .metrics import (
    demographic_parity_difference_scorer as demographic_parity_difference_scorer,
)
from .metrics import (
    equalized_odds_difference as equalized_odds_difference,
)
from .metrics import (
    equalized_odds_difference_scorer as equalized_odds_difference_scorer,
)
from .metrics import (
    make_fair_scorer as make_fair_scorer,
)
from .metrics import (
    pdp_scorer as pdp_scorer,
)
from .metrics import (
    pdp_violation as pdp_violation,
)
from .metrics import (
    peo_scorer as peo_scorer,
)
from .metrics import (
    peo_violation as peo_violation,
)
from .models import (
    BoosterMetric as BoosterMetric,
)
from .models import (
    OTFBoostingClassifier as OTFBoostingClassifier,
)
from .models import (
    OTFClassifier as OTFClassifier,
)
from .models import (
    OTFObjective as OTFObjective,
)
from .notions import (
    ConditionalParity as ConditionalParity,
)
from .notions import (
    Constraints as Constraints,
)
from .notions import (
    DemographicParity as DemographicParity,
)
from .notions import (
    EqualizedOdds as EqualizedOdds,
)
from .notions import (
    EqualOpportunity as EqualOpportunity,
)
from .notions import (
    LinearNotion as LinearNotion,
)
from .notions import (
    Notion as Notion,
)
from .notions import (
    People as People,
)
from .notions import (
    PredictiveEquality as PredictiveEquality,
)
from .notions import (
    as_notion as as_notion,
)
from .saving import load_model as load_model
from .saving import save_model as save_model
from .tables._encoder import TableEncoder as TableEncoder
from .tradeoff import plot_tradeoff as plot_tradeoff
from .tradeoff import tradeoff_curve as tradeoff_curve
from .transport import (
    AdjustedTransport as AdjustedTransport,
)
from .transport import (
    Coordinate as Coordinate,
)
from .transport import (
    Flows as Flows,
)
from .transport import (
    Newton as Newton,
)
from .transport import (
    Status as Status,
)
from .transport import (
    Transport as Transport,
)
from .transport import (
    TransportError as TransportError,
)
from .transport import (
    adjusted_otf as adjusted_otf,
)
from .transport import (
    exact_otf as exact_otf,
)
from .transport import (
    relaxed_otf as relaxed_otf,
)
from .transport import (
    smooth_otf as smooth_otf,
)

__version__: str
__all__: list[str]
