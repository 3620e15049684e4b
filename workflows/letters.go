package workflows

import (
	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
)

// letterToDelivery starts a Delivery when it does not run, and signals it.
func letterToDelivery(key, signal string, payload any) activities.Letter {
	return activities.Letter{
		Workflow: DeliveryType, ID: DeliveryID(key), TaskQueue: TaskQueue, TaskTimeout: TaskTimeout, Input: DeliveryInput{Key: key},
		Signal: signal, Payload: payload, Summary: "Delivery " + key,
		Attributes: []activities.Attribute{{Name: AttrDelivery.GetName(), Value: key}},
	}
}

// letterToPush hints that a ref may have moved.
func letterToPush(ref gitops.Ref, hint Hint) activities.Letter {
	return activities.Letter{
		Workflow: PushType, ID: PushID(ref), TaskQueue: TaskQueue, TaskTimeout: TaskTimeout, Input: PushInput{Ref: ref},
		Signal: SignalHint, Payload: hint, Summary: ref.String(),
		Attributes: []activities.Attribute{{Name: AttrRepository.GetName(), Value: ref.Repository}},
	}
}
